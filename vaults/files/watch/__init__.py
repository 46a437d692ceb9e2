"""Notices changed files: through inotify, watchfiles, or polling."""
