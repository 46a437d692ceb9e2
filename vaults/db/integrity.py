"""Whether a database file is whole: SQLite's own checks, in parts that are short enough to stop between two.

A part is a table with its indexes; the first is the schema with the list of free pages. A small file is one part.
Nothing is written. Each check takes a connection of its own: a full-text table compares what an older connection
remembers with what others have written since, and calls that damage.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from vaults.db.connection import open_raw
from vaults.db.engine import sqlite
from vaults.db.failures import translate_sqlite_errors
from vaults.db.sql import CLOCK_CHECK_STEPS, Reader
from vaults.errors import VaultQuarantined
from vaults.settings import StorageSettings

WHOLE_PAGES = 512
"""Pages up to which all of a database is checked when it is opened: some 2 MB, about a millisecond."""

WHOLE = "everything"
SCHEMA = "sqlite_schema"
PART_OF_WHOLE = 4
"""Up to this many times ``WHOLE_PAGES`` a database is one part: a connection for each table would take longer."""


def has_obvious_damage(tx: Reader) -> bool:
    """Whether a database that is being opened shows damage: all of a small one, the schema and the list of free pages
    of any other."""
    small = int(tx.value("PRAGMA page_count")) <= WHOLE_PAGES
    return bool(tx.value("PRAGMA quick_check(1)" if small else f"PRAGMA quick_check('{SCHEMA}')") != "ok")


def list_parts(path: Path, settings: StorageSettings) -> list[str]:
    """The parts to check. Blocking. Raises ``VaultQuarantined`` where not even these can be read."""
    with translate_sqlite_errors(), closing(open_raw(path, settings, writer=False)) as raw:
        if raw.execute("PRAGMA page_count").fetchone()[0] <= PART_OF_WHOLE * WHOLE_PAGES:
            return [WHOLE]
        tables = raw.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rootpage").fetchall()
    return [SCHEMA, *(str(name) for (name,) in tables)]


def is_damaged(path: Path, settings: StorageSettings, part: str, stopped: Callable[[], bool] = lambda: False) -> bool:
    """Whether two checks in a row find a part damaged. Blocking: a second for 100,000 memories. ``stopped`` ends it
    early; the answer is then False. Raises ``VaultUnavailable`` where the file cannot be read."""
    return all(_shows_damage(path, settings, part, stopped) for _ in range(2))


def _shows_damage(path: Path, settings: StorageSettings, part: str, stopped: Callable[[], bool]) -> bool:
    try:
        with translate_sqlite_errors(), closing(open_raw(path, settings, writer=False)) as raw:
            raw.set_progress_handler(stopped, CLOCK_CHECK_STEPS)
            verdict = raw.execute(*_pragma_for(part)).fetchone()[0]
    except VaultQuarantined:
        return True
    except sqlite.OperationalError as failure:
        if failure.sqlite_errorcode not in (sqlite.SQLITE_INTERRUPT, sqlite.SQLITE_ERROR):
            raise
        return False  # stopped, or the table was dropped meanwhile
    return bool(verdict != "ok")


def _pragma_for(part: str) -> tuple[str, dict[str, str]]:
    if part == WHOLE:
        return "PRAGMA integrity_check(1)", {}
    return "SELECT * FROM pragma_integrity_check(:part) LIMIT 1", {"part": part}
