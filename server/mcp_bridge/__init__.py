"""The parts between the MCP SDK and dispatch; ``server.protocol`` puts them together."""
