"""What a database administrator runs where servers may make no tables: the tables, and the rights of a server.

A server reads and writes rows and nothing else. Who laid the tables out owns them, and may be another role.
"""

from __future__ import annotations

import re

from vaults.cluster.postgres.connections import Connection
from vaults.cluster.postgres.layout_steps import LAYOUT, SCHEMAS, first_tables, newer_tables
from vaults.errors import InvalidArgument

ROLE = re.compile(r"^[a-z_][a-z0-9_$]{0,62}$")
"""A role that needs no quotes: PostgreSQL takes others, but who types one is mostly mistaken."""

_RIGHTS = (
    "GRANT USAGE ON SCHEMA {schema} TO {role}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
)
"""Numbers of bases come from an identity column, which asks for no right to its sequence."""


def to_script(installation: str, role: str | None = None) -> str:
    """The whole of ``cluster init`` as one transaction for psql. Raises ``InvalidArgument`` for a ``role`` that is
    none."""
    lines = [
        f"-- Tables of a strongroom cluster, layout {LAYOUT}. Run it once, in a database of its own.",
        r"\set ON_ERROR_STOP on",
        "BEGIN;",
        *(statements.strip() for statements in first_tables(installation)),
        *(statements.strip() for statements in newer_tables(1)),
        *(f"{statement};" for statement in _rights(role)),
        "COMMIT;",
    ]
    return "\n".join(lines)


def grant_rights(connection: Connection, role: str) -> None:
    """Let a role serve, with no right to change the tables. Raises ``InvalidArgument``, the driver's errors."""
    for statement in _rights(role):
        connection.execute(statement.encode())


def _rights(role: str | None) -> list[str]:
    if role is None:
        return []
    if not ROLE.match(role):
        raise InvalidArgument("--role", "must be a role of PostgreSQL in lower case, without quotes")
    return [right.format(schema=schema, role=role) for schema in SCHEMAS for right in _RIGHTS]
