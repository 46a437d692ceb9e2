"""Which tables are truth and which are derived, read off the tags in the migrations.

The lists are never written down a second time. Whoever saves, salvages or compares what a database holds asks here.
"""

from __future__ import annotations

import re
from functools import cache

from vaults.db.migration import load_migrations

_STATEMENT = re.compile(
    r"^-- (?P<tag>canonical|derived)\b[^\n]*\nCREATE (?:VIRTUAL )?TABLE (?:IF NOT EXISTS )?(?P<made>\w+)"
    r"|^DROP TABLE (?:IF EXISTS )?(?P<dropped>\w+)"
    r"|^ALTER TABLE (?P<old>\w+) RENAME TO (?P<new>\w+)",
    re.MULTILINE,
)


@cache
def canonical_tables(folder: str, steps: int | None = None) -> tuple[str, ...]:
    """The tables of ``folder`` (``vault`` or ``control``) that nothing can bring back, sorted. ``steps``: as the first
    so many migrations leave them; default: all."""
    return _tagged(folder, "canonical", steps)


@cache
def derived_tables(folder: str, steps: int | None = None) -> tuple[str, ...]:
    """The tables that can be built again, sorted."""
    return _tagged(folder, "derived", steps)


def _tagged(folder: str, tag: str, steps: int | None) -> tuple[str, ...]:
    latest: dict[str, str] = {}
    for step in load_migrations(folder)[:steps]:
        for found in _STATEMENT.finditer(step.sql):
            if found["made"]:
                latest[found["made"]] = found["tag"]
            elif found["dropped"]:
                latest.pop(found["dropped"], None)
            else:
                latest[found["new"]] = latest.pop(found["old"])
    return tuple(sorted(table for table, given in latest.items() if given == tag))
