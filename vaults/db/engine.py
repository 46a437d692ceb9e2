"""Which SQLite: the bundled current one where there is a wheel, else the interpreter's.

SQLite before 3.51.3 can corrupt a database with several connections when a WAL restart meets a checkpoint; many
interpreters still link one. ``pysqlite3`` is CPython's own module with a current SQLite inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3 as sqlite
else:
    try:
        from pysqlite3 import dbapi2 as sqlite
    except ImportError:
        import sqlite3 as sqlite

SAFE_SINCE = (3, 51, 3)


def is_safe() -> bool:
    """Whether the linked SQLite has the fix for the WAL-reset corruption."""
    return tuple(sqlite.sqlite_version_info) >= SAFE_SINCE


__all__ = ["SAFE_SINCE", "is_safe", "sqlite"]
