"""The console: pages for people. Imported at the first request for one."""
