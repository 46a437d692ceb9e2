"""How the tables look to PostgreSQL, and whether they are as they were laid out."""

from __future__ import annotations

import difflib

from vaults.cluster.postgres.connections import Connection
from vaults.cluster.postgres.layout_steps import SCHEMAS, read_resource
from vaults.errors import InvalidArgument

_SHAPE = """
SELECT line FROM (
  SELECT 1 AS kind, c.relname::text AS name, a.attnum::int AS number,
         format('%%s.%%s %%s%%s%%s%%s%%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
                CASE WHEN a.attcollation = t.typcollation THEN '' ELSE ' collate ' || a.attcollation::regcollation END,
                CASE WHEN a.attnotnull THEN ' not null' ELSE '' END,
                CASE WHEN a.atthasdef THEN ' default ' || pg_get_expr(d.adbin, d.adrelid) ELSE '' END,
                CASE WHEN a.attidentity <> '' THEN ' identity' ELSE '' END) AS line
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
  LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE c.relnamespace = to_regnamespace(%(schema)s::text) AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT 2, c.relname, 0,
         format('%%s: %%s', c.relname, replace(pg_get_constraintdef(k.oid), %(schema)s::text || '.', ''))
  FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
  WHERE c.relnamespace = to_regnamespace(%(schema)s::text) AND k.contype <> 'n'
  UNION ALL
  SELECT 3, c.relname, 0,
         format('%%s: %%s', c.relname, CASE c.relpersistence WHEN 'p' THEN 'logged' ELSE 'not logged' END)
  FROM pg_class c WHERE c.relnamespace = to_regnamespace(%(schema)s::text) AND c.relkind NOT IN ('i', 'S', 't', 'c')
  UNION ALL
  SELECT 4, c.relname, 0, format('%%s: trigger %%s', c.relname, t.tgname)
  FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
  WHERE c.relnamespace = to_regnamespace(%(schema)s::text) AND NOT t.tgisinternal
  UNION ALL
  SELECT 5, c.relname, 0, format('%%s: rule %%s', c.relname, r.rulename)
  FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class WHERE c.relnamespace = to_regnamespace(%(schema)s::text)
  UNION ALL
  SELECT 6, c.relname, 0, format('%%s: rows are hidden by policies', c.relname)
  FROM pg_class c WHERE c.relnamespace = to_regnamespace(%(schema)s::text) AND c.relrowsecurity
) AS shape ORDER BY kind, name COLLATE "C", number, line COLLATE "C"
"""


def shape(connection: Connection, schema: str = "strongroom") -> list[str]:
    """The tables of one of ``SCHEMAS`` as they are: a line for each column, constraint and trigger."""
    return [line for (line,) in connection.execute(_SHAPE, {"schema": schema})]


def expected_shape(schema: str = "strongroom") -> list[str]:
    """The tables of one of ``SCHEMAS`` as they are after the last step."""
    return read_resource("schema_shape.txt", schema).splitlines()


def check_shape(connection: Connection) -> None:
    """Raises ``InvalidArgument`` with the first line that is not as it was laid out."""
    for schema in SCHEMAS:
        for line in difflib.ndiff(expected_shape(schema), shape(connection, schema)):
            sign, what = line[:2], line[2:]
            if sign in ("- ", "+ "):
                how = "lacks" if sign == "- " else "has, beyond what was laid out,"
                raise InvalidArgument(
                    "cluster.url", f"{how} {schema}.{what}", hint="nothing was changed; restore the tables as they were"
                )
