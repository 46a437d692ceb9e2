"""Taking the newest whole state of a vault into the new database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from ops.salvage.backup_rows import WholeSource, merge_source
from ops.salvage.found_rows import TableRemains
from ops.salvage.harvesting import DatabaseRemains
from ops.salvage.salvage_report import SalvageReport, SourceReport
from ops.salvage.source_search import SalvageSource
from vaults.db.connection import Database
from vaults.db.engine import sqlite
from vaults.db.sql import Reader, Writer
from vaults.errors import StorageFull, StrongroomError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sources:
    """Newest first: those that somebody named, which must be of use, and those that were found, which may not be."""

    given: Sequence[SalvageSource]
    found: Sequence[SalvageSource]


@dataclass(frozen=True, slots=True)
class SourceMerge:
    """Taking a whole source into the new database."""

    db: Database
    open: Callable[[SalvageSource], AbstractAsyncContextManager[Path]]
    remains: DatabaseRemains
    tables: dict[str, TableRemains]
    report: SalvageReport

    async def take_newest(self, sources: Sources) -> bool:
        """Take the first that is whole; what it lacks was deleted before it was made, so older ones have no say."""
        is_taken = False
        for source in (*sources.given, *sources.found):
            if is_taken:
                self._tell(source, used=False, note="a newer one was taken")
                continue
            try:
                await self._take(source)
            except StorageFull:
                raise  # says nothing of the source: to go on without it would lose what it has
            except StrongroomError as failure:
                if source in sources.given:
                    raise
                self._tell(source, used=False, note=failure.message)
            else:
                is_taken = True
                self._tell(source, used=True)
        return is_taken

    def _tell(self, source: SalvageSource, *, used: bool, note: str = "") -> None:
        self.report.sources.append(SourceReport(source.name, used=used, note=note))

    async def _take(self, source: SalvageSource) -> None:
        async with self.open(source) as path:
            with closing(sqlite.connect(f"file:{quote(str(path))}?mode=ro", uri=True, check_same_thread=False)) as raw:
                rows = Reader(raw)
                is_current = not self.report.log_is_damaged and self.remains.change == rows.version()
                whole = WholeSource(source.name, rows, is_current)
                await self.db.run_on_writer(
                    lambda writer: in_one_go(writer, lambda tx: merge_source(tx, self.tables, whole, self.report))
                )


def in_one_go(raw: sqlite.Connection, work: Callable[[Writer], T]) -> T:
    """Run ``work`` in one transaction."""
    raw.execute("BEGIN IMMEDIATE")
    try:
        found = work(Writer(raw))
        raw.execute("COMMIT")
    except BaseException:
        if raw.in_transaction:
            raw.execute("ROLLBACK")
        raise
    return found
