"""What the role of a server may do: read and write rows. Who made the tables owns them, and may be another role."""

from __future__ import annotations

import re

from vaults.cluster.postgres.connections import Connection
from vaults.cluster.postgres.layout_steps import SCHEMAS
from vaults.errors import InvalidArgument

ROLE = re.compile(r"^[a-z_][a-z0-9_$]{0,62}$")
"""A role that needs no quotes: PostgreSQL takes others, but who types one is mostly mistaken."""

_RIGHTS = (
    "GRANT USAGE ON SCHEMA {schema} TO {role}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
)
"""Numbers of bases come from an identity column, which asks for no right to its sequence."""

_LACKING = """
SELECT n.nspname || '.' || c.relname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace,
     unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS wanted
WHERE n.nspname = ANY(%s) AND c.relkind IN ('r', 'v')
  AND NOT (has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, wanted))
ORDER BY 1 LIMIT 1
"""


def rights_of(role: str | None) -> list[str]:
    """The statements that let a role serve; none for None. Raises ``InvalidArgument`` for a ``role`` that is none."""
    if role is None:
        return []
    if not ROLE.match(role):
        raise InvalidArgument("--role", "must be a role of PostgreSQL in lower case, without quotes")
    return [f"{right.format(schema=schema, role=role)};" for schema in SCHEMAS for right in _RIGHTS]


def grant_rights(connection: Connection, role: str) -> None:
    """Let a role serve, with no right to change the tables. Raises ``InvalidArgument``, the driver's errors."""
    for statement in rights_of(role):
        connection.execute(statement.encode())


def check_rights(connection: Connection) -> None:
    """Raises ``InvalidArgument`` with the first table that the role of this connection cannot read and write."""
    row = connection.execute(_LACKING, (list(SCHEMAS),)).fetchone()
    if row is not None:
        raise InvalidArgument(
            "cluster.url",
            f"names a role that may not read and write {row[0]}",
            hint="as the owner of the tables, run: strongroom cluster init --role ROLE",
        )
