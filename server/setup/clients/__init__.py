"""The configuration files of clients: adding this server to one, and taking it out again."""
