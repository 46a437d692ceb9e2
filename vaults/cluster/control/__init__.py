"""The tables of control.db in PostgreSQL, behind the same ``Reader`` and ``Writer``."""
