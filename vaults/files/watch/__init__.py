"""Being told of changed files: by inotify, or by watchfiles."""
