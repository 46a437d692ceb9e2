"""The PostgreSQL of the tests of vaults.cluster, with a database of its own for each test."""

from tests.vaults.cluster.conftest import connections, login, postgres

__all__ = ["connections", "login", "postgres"]
