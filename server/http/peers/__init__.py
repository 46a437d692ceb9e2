"""Requests between the servers of a cluster."""
