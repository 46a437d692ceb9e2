"""A module per capability: functions that take the vault first."""
