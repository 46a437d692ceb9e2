"""What ``verify`` looks at in a database, cut into parts: each reads one snapshot and says what disagrees, by code.

Parts know nothing of each other; they may run in any order, and in processes of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from vaults.db.connection import open_raw
from vaults.db.failures import damaged_error, translate_sqlite_errors
from vaults.db.sql import Reader, Writer
from vaults.domain.documents import indexing as document_indexing
from vaults.domain.maintenance import eviction_log, memory_comparison, row_checks, vector_comparison
from vaults.domain.maintenance.disagreements import Disagreements
from vaults.domain.maintenance.memory_comparison import MemorySpan
from vaults.domain.maintenance.vector_comparison import VectorOrigin
from vaults.domain.notes.verify import journal_check
from vaults.index import text_index
from vaults.index.shelves import SHELVES, Shelf
from vaults.paces import WorkPace
from vaults.settings import IndexSettings, StorageSettings

SPAN = 10_000
"""Memories in one part."""

DOCUMENTS_PAGE = 200
"""Documents read at a time."""


@dataclass(frozen=True, slots=True)
class ComparedDatabase:
    """``path``: of a copy, or of the database itself; ``is_shared``: others write to it meanwhile."""

    path: Path
    storage: StorageSettings
    index: IndexSettings
    vectors: VectorOrigin
    is_shared: bool = False

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        """One moment of it. Blocking."""
        with translate_sqlite_errors(), closing(open_raw(self.path, self.storage, writer=False)) as raw:
            raw.execute("BEGIN")
            yield Reader(raw)


class ComparisonPart(Protocol):
    """``compare`` blocks, and rests as ``pace`` says. Raises ``VaultQuarantined`` where the file is damaged."""

    def compare(self, database: ComparedDatabase, pace: WorkPace, /) -> Disagreements: ...


@dataclass(frozen=True, slots=True)
class WordsPart:
    """The full-text tables against the passages, by FTS5's own check. On a connection of its own: an older one
    remembers what others have changed since, and FTS5 calls that damage."""

    def compare(self, database: ComparedDatabase, _: WorkPace) -> Disagreements:
        with translate_sqlite_errors(), closing(open_raw(database.path, database.storage, writer=True)) as raw:
            if database.is_shared:  # whoever writes waits meanwhile
                raw.execute("BEGIN IMMEDIATE")
            differs = text_index.is_inconsistent(Writer(raw))
            if raw.in_transaction:
                raw.execute("ROLLBACK")
        return Disagreements(Counter({"text_index_differs": int(differs)}))


@dataclass(frozen=True, slots=True)
class FilePart:
    """The pages of the file, by SQLite's own check, which has FTS5 look at its tables, too."""

    def compare(self, database: ComparedDatabase, _: WorkPace) -> Disagreements:
        with database.snapshot() as tx:
            lines = [str(line).lower() for (line,) in tx.all("PRAGMA quick_check(20)") if line != "ok"]
        if any("fts5" not in line for line in lines):
            raise damaged_error()
        return Disagreements(Counter({"text_index_differs": int(bool(lines))}))


@dataclass(frozen=True, slots=True)
class RowsPart:
    """Rows that refer to each other, and the text around passages."""

    def compare(self, database: ComparedDatabase, _: WorkPace) -> Disagreements:
        with database.snapshot() as tx:
            return Disagreements(row_checks.count_disagreeing(tx))


@dataclass(frozen=True, slots=True)
class DocumentsPart:
    """Documents with what is derived of them."""

    def compare(self, database: ComparedDatabase, pace: WorkPace) -> Disagreements:
        found, after, limit = Disagreements(), -1, database.index.passage_tokens
        with database.snapshot() as tx:
            going = eviction_log.find_unfinished(tx)
            while documents := document_indexing.read_page(tx, after, DOCUMENTS_PAGE):
                for document in pace(documents):
                    if going is not None and (going.kind, going.item) == (document.fields.kind, document.seq):
                        continue  # let go in short steps, of which this is one
                    found.add_item(document.id, document_indexing.find_disagreeing(tx, document, limit))
                after = documents[-1].seq
        return found


@dataclass(frozen=True, slots=True)
class VersionsPart:
    """Kept versions of notes, and the changes that name them."""

    def compare(self, database: ComparedDatabase, _: WorkPace) -> Disagreements:
        with database.snapshot() as tx:
            return Disagreements(Counter(journal_check.count_wrong_versions(tx)))


@dataclass(frozen=True, slots=True)
class VectorsPart:
    """The vectors of a shelf, and the saved index of them."""

    shelf: Shelf

    def compare(self, database: ComparedDatabase, pace: WorkPace) -> Disagreements:
        with database.snapshot() as tx:
            return Disagreements(
                vector_comparison.compare_vectors(tx, self.shelf, database.vectors, database.index, pace)
            )


@dataclass(frozen=True, slots=True)
class MemoriesPart:
    """Some memories with what is derived of each."""

    span: MemorySpan

    def compare(self, database: ComparedDatabase, pace: WorkPace) -> Disagreements:
        with database.snapshot() as tx:
            return memory_comparison.compare_memories(tx, self.span, database.index.passage_tokens, pace)


def split(database: ComparedDatabase) -> list[ComparisonPart]:
    """All parts, those that take longest first. Blocking. Raises ``VaultQuarantined``."""
    with database.snapshot() as tx:
        spans = memory_comparison.split(tx, SPAN)
    vectors = map(VectorsPart, SHELVES)
    return [WordsPart(), FilePart(), *vectors, RowsPart(), *map(MemoriesPart, spans), DocumentsPart(), VersionsPart()]
