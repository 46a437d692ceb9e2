"""Which tables cannot be made again, and which can: the tags above each ``CREATE TABLE`` of the migrations.

The lists are never written down a second time. Whoever saves, salvages or compares what a database holds asks here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from vaults.db.migration import load_migrations

_STATEMENT = re.compile(
    r"^-- (?P<tag>canonical|derived from)[^\n]*\nCREATE (?:VIRTUAL )?TABLE (?P<made>\w+)"
    r"|^DROP TABLE (?:IF EXISTS )?(?P<dropped>\w+)"
    r"|^ALTER TABLE (?P<old>\w+) RENAME TO (?P<new>\w+)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class TableTags:
    """The tables of a schema, in the order they were made."""

    canonical: tuple[str, ...]
    """Lose a row of these, and something is gone."""
    derived: tuple[str, ...]
    """Drop these, and they are built again."""


@cache
def read_table_tags(folder: str, steps: int | None = None) -> TableTags:
    """The tables that the first ``steps`` migrations of ``folder`` (``vault`` or ``control``) leave; default: all."""
    kinds: dict[str, str] = {}
    for step in load_migrations(folder)[:steps]:
        for found in _STATEMENT.finditer(step.sql):
            if found["made"]:
                kinds[found["made"]] = found["tag"]
            elif found["dropped"]:
                kinds.pop(found["dropped"], None)
            else:
                kinds[found["new"]] = kinds.pop(found["old"])
    canonical = tuple(name for name, tag in kinds.items() if tag == "canonical")
    return TableTags(canonical, tuple(name for name in kinds if name not in canonical))
