"""What stands between the MCP SDK and dispatch, in parts; ``server.protocol`` puts them together."""
