"""This server as one of several over one PostgreSQL."""
