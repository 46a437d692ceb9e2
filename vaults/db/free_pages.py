"""Pages a database no longer needs, and how the disk gets them back.

A database whose ``auto_vacuum`` is incremental moves pages from its end into holes, a few at a time, and becomes
shorter. That is decided before the first table, or by rewriting the whole file: ``compact``.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from vaults.db.connection import Database
from vaults.db.engine import sqlite
from vaults.db.sql import Reader

INCREMENTAL = 2
"""What ``PRAGMA auto_vacuum`` says of such a database."""

PAGES = 64
"""Pages given back in one step: a few milliseconds."""

PAUSE_S = 0.01


@dataclass(frozen=True, slots=True)
class FreePages:
    """Bytes that lie free in a database, and whether they can be given back in steps."""

    size: int
    returnable: bool


def read_free_pages(tx: Reader) -> FreePages:
    """How it is now."""
    pages, size, mode = (int(tx.value(f"PRAGMA {name}")) for name in ("freelist_count", "page_size", "auto_vacuum"))
    return FreePages(pages * size, mode == INCREMENTAL)


async def give_back(db: Database) -> int:
    """Make the file shorter by what lies free, in steps with pauses; returns how many bytes. Does nothing in a database
    that would have to be rewritten for it. Raises ``StorageFull``."""
    before = await db.read(read_free_pages)
    left = before
    while left.returnable and left.size:
        await db.run_on_writer(_give_some)
        now = await db.read(read_free_pages)
        if now.size >= left.size:
            break  # somebody else frees as fast, or holds the file
        left = now
        await asyncio.sleep(PAUSE_S)
    if left.size < before.size:
        await db.run_on_writer(_move_log)
    return max(0, before.size - left.size)


def _give_some(raw: sqlite.Connection) -> None:
    raw.execute(f"PRAGMA incremental_vacuum({PAGES})").fetchall()


def _move_log(raw: sqlite.Connection) -> None:
    """Move the log into the file as far as nobody reads from it: the file is not shorter before."""
    raw.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


async def compact(db: Database) -> None:
    """Rewrite the file without free pages, so that it can give pages back in steps from then on. Takes as much room
    again, and whoever writes waits. Raises ``StorageFull``, and ``VaultUnavailable`` where others use the file."""
    await db.run_on_writer(_rewrite)
    await db.checkpoint()


def _rewrite(raw: sqlite.Connection) -> None:
    raw.execute("PRAGMA auto_vacuum=INCREMENTAL")
    raw.execute("VACUUM")
