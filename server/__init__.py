"""The doors: HTTP, stdio and the command line, all through one dispatch."""
