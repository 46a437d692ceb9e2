"""The doors: HTTP, stdio and the command line, all through one dispatch."""

from server.sdk_packages import defer_packages

defer_packages()  # before any module below imports the SDK
