"""What is stored and found. Knows no HTTP, MCP, JWT or Prometheus."""
