"""Which tables are truth and which are derived, read off the tags in the migrations."""

from __future__ import annotations

import re
from functools import cache

from vaults.db.migration import load_migrations

_TAGGED = re.compile(
    r"^-- (canonical|derived)\b[^\n]*\nCREATE (?:VIRTUAL )?TABLE (?:IF NOT EXISTS )?(\w+)", re.MULTILINE
)


@cache
def canonical_tables(folder: str) -> tuple[str, ...]:
    """The tables of ``folder`` (``vault`` or ``control``) that nothing can bring back, sorted."""
    return _tagged(folder, "canonical")


@cache
def derived_tables(folder: str) -> tuple[str, ...]:
    """The tables that can be built again, sorted."""
    return _tagged(folder, "derived")


def _tagged(folder: str, tag: str) -> tuple[str, ...]:
    latest: dict[str, str] = {}
    for step in load_migrations(folder):
        latest |= {table: found for found, table in _TAGGED.findall(step.sql)}
    return tuple(sorted(table for table, found in latest.items() if found == tag))
