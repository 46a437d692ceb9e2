"""Translates SQLite's failures into typed errors. The one place that reads its error codes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vaults.db.engine import sqlite
from vaults.errors import (
    Overloaded,
    ReadOnly,
    StorageFull,
    StrongroomError,
    VaultQuarantined,
    VaultUnavailable,
)


def to_typed_error(failure: sqlite.Error) -> StrongroomError | None:
    """The typed error for a driver failure, or None for a bug in the caller (constraint, syntax, misuse)."""
    primary = (getattr(failure, "sqlite_errorcode", None) or 0) & 0xFF
    match primary:
        case sqlite.SQLITE_FULL:
            return StorageFull("the disk is full; nothing was written", hint="free space; reading still works")
        case sqlite.SQLITE_BUSY | sqlite.SQLITE_LOCKED:
            return Overloaded("another process holds the vault's write lock", retry_after_s=1.0)
        case sqlite.SQLITE_READONLY | sqlite.SQLITE_PERM:
            return ReadOnly("the vault's files cannot be written", hint="the operator must check mount and owner")
        case sqlite.SQLITE_CORRUPT | sqlite.SQLITE_NOTADB:
            return damaged_error()
        case sqlite.SQLITE_IOERR | sqlite.SQLITE_CANTOPEN:
            return VaultUnavailable("the vault's files cannot be read or written", reason="io")
        case _:
            # The driver's own words: strongroom stores nothing but UTF-8.
            return damaged_error() if str(failure).startswith("Could not decode to UTF-8") else None


def damaged_error() -> VaultQuarantined:
    """The error for a database that cannot be trusted any more."""
    return VaultQuarantined(
        "the vault's database is damaged", hint="the operator can run: strongroom salvage", reason="damaged"
    )


@contextmanager
def translate_sqlite_errors() -> Iterator[None]:
    """Raise the typed error for a driver failure inside the block."""
    try:
        yield
    except sqlite.Error as failure:
        typed = to_typed_error(failure)
        if typed is None:
            raise
        raise typed from failure
    except UnicodeDecodeError as failure:
        # SQLite quotes the schema when it reports what is wrong with it.
        raise damaged_error() from failure
