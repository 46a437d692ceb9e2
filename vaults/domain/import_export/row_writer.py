"""Stores the lines of a batch that are rows, in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.documents.document_model import Document
from vaults.domain.import_export import document_lines, import_runs, memory_lines, record_tables
from vaults.domain.import_export.document_lines import ReadyDocument
from vaults.domain.import_export.file_lines import ReadyFile
from vaults.domain.import_export.import_runs import ImportedRecord, ImportRun
from vaults.domain.import_export.memory_lines import MemoryInserter, ReadyMemory
from vaults.domain.import_export.record_tables import RecordTable, RowValues
from vaults.domain.memories.duplicate_merge import KnownMemory
from vaults.domain.memories.quotas import Quota
from vaults.errors import QuotaExceeded
from vaults.vault import Vault

Outcome = Literal["stored", "updated", "known", "merged", "kept", "rejected"]
"""``merged``: the memory was known and gained something; ``kept``: it was changed here, and stays so."""


@dataclass(frozen=True, slots=True)
class LineOutcome:
    """What became of a line; ``reason`` where it was rejected."""

    kind: str
    outcome: Outcome
    reason: str | None = None


STORED_MEMORY = LineOutcome("memory", "stored")


@dataclass(frozen=True, slots=True)
class ReadyRecord:
    """A line that is a row, ready to be written; references are still external ids."""

    line: Any
    table: RecordTable
    row: RowValues


@dataclass(frozen=True, slots=True)
class ReadyLine:
    """A checked line. ``hash``: equal for lines that say the same."""

    kind: str
    external_id: str
    hash: str
    content: ReadyMemory | ReadyRecord | ReadyDocument | ReadyFile

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.external_id


def count_outcomes(outcomes: Sequence[LineOutcome]) -> dict[str, dict[str, int]]:
    """Numbers by kind and outcome."""
    counts: dict[str, Counter[str]] = {}
    for each in outcomes:
        counts.setdefault(each.kind, Counter())[each.outcome] += 1
    return {kind: dict(found) for kind, found in counts.items()}


def has_changes(outcomes: Sequence[LineOutcome]) -> bool:
    """Whether anything was stored or changed."""
    return any(each.outcome in ("stored", "updated", "merged") for each in outcomes)


class RowWriter:
    """The rows of one batch in one transaction. What of them is here is looked up once, and kept up while they are
    stored."""

    def __init__(
        self, vault: Vault, tx: Reader, actor: Actor, run: ImportRun, rows: Sequence[ReadyLine], *, sees_private: bool
    ) -> None:
        memories = [each.external_id for each in rows if isinstance(each.content, ReadyMemory)]
        self._vault, self._actor, self._run, self._rows = vault, actor, run.seq, rows
        self._tx = tx
        self._records = import_runs.find_records(tx, actor, [each.key for each in rows])
        self._viewer = None if sees_private else actor.identity
        self._memories = memory_lines.find_ids(tx, memories, self._viewer) if memories else set()
        model = vault.embedder.identity
        self._inserter = MemoryInserter(actor, self._viewer, model.key if model else None)
        self._created: list[ImportedRecord] = []  # and not written yet
        self._room: int | None = None  # for new memories; None: not asked yet
        self._has_space: bool | None = None  # for everything else; likewise

    def find_new_memories(self) -> list[bool]:
        """Which rows would be memories that are not here."""
        return [
            isinstance(each.content, ReadyMemory)
            and each.key not in self._records
            and self._find_existing(each.external_id, each.content) is None
            for each in self._rows
        ]

    def store(self, quota: Quota, stores: int) -> list[LineOutcome]:
        """Store them, or those before the first memory for which there is no room. ``stores``: memories the quota
        counted. Raises ``QuotaExceeded`` when not even the first row may be stored."""
        assert isinstance(self._tx, Writer)
        outcomes: list[LineOutcome] = []
        for each in self._rows:
            room = _RoomCheck(self._tx, quota, stores, is_first=not outcomes)
            if (outcome := self._store_one(self._tx, each, room)) is None:
                break
            outcomes.append(outcome)
        self._inserter.index(self._tx)
        self._write_created(self._tx)
        if has_changes(outcomes):  # counting alone would be one more transaction
            import_runs.record_counts(self._tx, self._run, count_outcomes(outcomes))
        return outcomes

    def _store_one(self, tx: Writer, one: ReadyLine, check: _RoomCheck) -> LineOutcome | None:
        """What became of a line; None where there is no room for it."""
        record = self._records.get(one.key)
        if record is not None and record.hash == one.hash:
            return LineOutcome(one.kind, "known")
        if not isinstance(one.content, ReadyMemory):
            if self._has_space is None:
                self._has_space = check.has_space()
            return None if self._has_space is False else self._store_other(tx, one, record)
        existing = self._find_existing(one.external_id, one.content)
        if record is None and existing is None:
            self._room = check.find_room() if self._room is None else self._room
            if self._room == 0:
                return None
            self._room -= 1
        return self._store_memory(tx, one, one.content, record, existing)

    def _find_existing(self, external_id: str, memory: ReadyMemory) -> Literal[True] | KnownMemory | None:
        """The memory a line is, whoever brought it."""
        return True if external_id in self._memories else memory_lines.find_equal(self._tx, self._actor, memory)

    def _store_memory(
        self,
        tx: Writer,
        one: ReadyLine,
        memory: ReadyMemory,
        record: ImportedRecord | None,
        existing: Literal[True] | KnownMemory | None,
    ) -> LineOutcome:
        if record is None and existing is None:
            memory_id, state = self._inserter.insert(tx, memory)
            self._memories.add(one.external_id)
            self._add(one, (memory_id,), state)
            return STORED_MEMORY
        self._inserter.index(tx)  # what follows may change one of this very batch
        if isinstance(existing, KnownMemory):
            memory_lines.merge(self._vault, tx, existing)
            return LineOutcome(one.kind, "merged")
        if record is None or not memory.named:
            return LineOutcome(one.kind, "known")
        memory_id = record.key[0]
        if memory_lines.read_state(tx, memory_id) != record.state:
            return LineOutcome(one.kind, "kept")
        before = memory_lines.update(self._vault, tx, self._actor, memory_id, memory, self._viewer)
        if before is None:
            return LineOutcome(one.kind, "known")
        return self._update(tx, one, record, before, memory_lines.read_state(tx, memory_id))

    def _store_record(
        self, tx: Writer, one: ReadyLine, content: ReadyRecord, record: ImportedRecord | None
    ) -> LineOutcome:
        self._write_created(tx)  # it may refer to what came before it in the batch
        table, row = content.table, dict(content.row)
        for column, find in table.references.items():
            if row[column] is not None:
                row[column] = find(tx, self._actor, row[column])
            if row[column] is None and column in table.required:
                return LineOutcome(one.kind, "rejected", f"{column.removesuffix('_memory')} names nothing that is here")
        if record is None:
            key = None
            if not record_tables.is_here(tx, table, one.external_id):
                key = record_tables.insert_row(tx, table, row)
            if key is None:
                return LineOutcome(one.kind, "known")
            table.write_beside(tx, key, content.line)
            self._add(one, key, record_tables.read_state(tx, table, key) or "")
            return LineOutcome(one.kind, "stored")
        if record_tables.read_state(tx, table, record.key) != record.state:
            return LineOutcome(one.kind, "kept")
        changed = {name: value for name, value in row.items() if name not in ("id", *table.key)}
        before = record_tables.read_row(tx, table, record.key, list(changed))
        record_tables.update_row(tx, table, record.key, changed)
        table.write_beside(tx, record.key, content.line)
        return self._update(tx, one, record, before, record_tables.read_state(tx, table, record.key) or "")

    def _store_other(self, tx: Writer, one: ReadyLine, record: ImportedRecord | None) -> LineOutcome:
        if isinstance(one.content, ReadyDocument):
            return self._store_document(tx, one, one.content, record)
        assert isinstance(one.content, ReadyRecord)  # files are stored elsewhere
        return self._store_record(tx, one, one.content, record)

    def _store_document(
        self, tx: Writer, one: ReadyLine, content: ReadyDocument, record: ImportedRecord | None
    ) -> LineOutcome:
        name = str(record.key[0]) if record is not None else one.external_id
        known = document_lines.find_known(tx, self._actor, name)
        if known is None and record is None:
            document_id = document_lines.insert(self._vault, tx, self._actor, content)
            self._add(one, (document_id,), document_lines.read_state(tx, document_id))
            return LineOutcome(one.kind, "stored")
        is_own = known is not None and known.stored_by == self._actor.identity
        if known is not None and is_own and content.line.append:
            return self._append(tx, one, content, record, known)
        if known is None or record is None or known.hash != record.state:  # gone, made here, or changed here
            return LineOutcome(one.kind, "known" if record is None else "kept")
        before = document_lines.update(self._vault, tx, known, content)
        return self._update(tx, one, record, before, document_lines.read_state(tx, known.id))

    def _append(
        self, tx: Writer, one: ReadyLine, content: ReadyDocument, record: ImportedRecord | None, known: Document
    ) -> LineOutcome:
        before = document_lines.append(self._vault, tx, known, content)
        if before is None:
            return LineOutcome(one.kind, "known")
        if record is None:
            return LineOutcome(one.kind, "updated")
        begun = replace(one, hash=record.hash)  # the line that began it stays known
        return self._update(tx, begun, record, before, document_lines.read_state(tx, known.id))

    def _add(self, one: ReadyLine, key: tuple[Any, ...], state: str) -> None:
        """Know what a line became."""
        created = ImportedRecord(
            kind=one.kind, external_id=one.external_id, run=self._run, key=key, hash=one.hash, state=state
        )
        self._records[one.key] = created
        self._created.append(created)

    def _update(self, tx: Writer, one: ReadyLine, record: ImportedRecord, before: Any, state: str) -> LineOutcome:
        """Remember that a line changed something."""
        self._write_created(tx)  # it may have been created in this very batch
        now = replace(record, hash=one.hash, state=state)
        import_runs.record_change(tx, self._actor, self._run, before, record, now)
        self._records[one.key] = now
        return LineOutcome(one.kind, "updated")

    def _write_created(self, tx: Writer) -> None:
        import_runs.record_creations(tx, self._actor, self._created)
        self._created = []


@dataclass(frozen=True, slots=True)
class _RoomCheck:
    """Asks a quota inside the transaction. Refusals end the batch; that of its first line is raised."""

    tx: Reader
    quota: Quota
    stores: int  # memories the quota counted
    is_first: bool

    def find_room(self) -> int:
        """How many memories may be stored. Raises ``QuotaExceeded``."""
        try:
            return self.quota.room(self.tx, self.stores)
        except QuotaExceeded:
            if self.is_first:
                raise
            return 0

    def has_space(self) -> bool:
        """Whether the vault may grow. Raises ``QuotaExceeded``."""
        try:
            self.quota.room(self.tx, 0)
        except QuotaExceeded:
            if self.is_first:
                raise
            return False
        return True
