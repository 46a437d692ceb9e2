"""Takes a run of an import back: what it created goes, what it changed becomes what it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from vaults.context import run_in
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.documents import storage
from vaults.domain.import_export import document_lines, file_lines, import_runs, memory_lines, record_tables
from vaults.domain.import_export.import_runs import ImportedChange, ImportedRecord, ImportRun
from vaults.domain.import_export.record_tables import RECORD_TABLES
from vaults.domain.memories import lifecycle
from vaults.domain.notes.commit.journal import FileChange, NoteChange
from vaults.domain.notes.commit.transaction import commit
from vaults.domain.notes.index.extraction import compute_digest, etag_of
from vaults.errors import NotFound
from vaults.files.tree import FileContent
from vaults.vault import Vault

BATCH = 500
"""Records of one step."""

FILE_KINDS = ("note", "policy")


@dataclass(slots=True)
class UndoTally:
    """What became of the records of a run, by kind. ``kept``: those changed here since, and left alone."""

    removed: Counter[str] = field(default_factory=Counter)
    restored: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.removed.total() + self.restored.total() + self.kept.total()


async def undo(
    vault: Vault, actor: Actor, run: ImportRun, progress: Callable[[UndoTally], None] = lambda _: None
) -> UndoTally:
    """Take a run back, in steps that may be interrupted and repeated. Afterwards it can be imported again."""
    tally = UndoTally()
    while await undo_some(vault, actor, run, tally):
        progress(tally)
    return tally


async def undo_some(vault: Vault, actor: Actor, run: ImportRun, tally: UndoTally, most: int = BATCH) -> bool:
    """Take up to ``most`` records of a run back, the newest first; whether there may be more. Memories are purged, with
    all their traces. What somebody, or a later import, changed since stays."""
    await vault.disk.make_room()
    if changes := await vault.db.read(lambda tx: import_runs.read_changes(tx, actor, run.seq, most)):
        await _restore(vault, actor, changes, tally)
        return True
    if created := await vault.db.read(lambda tx: import_runs.read_created(tx, actor, run.seq, most)):
        await _remove(vault, actor, run, created, tally)
        return True
    await lifecycle.erase_purged(vault)
    await vault.db.write(lambda tx: import_runs.mark_undone(tx, run.seq))
    vault.start_background_work()
    return False


async def _restore(vault: Vault, actor: Actor, changes: Sequence[ImportedChange], tally: UndoTally) -> None:
    async with vault.notes.writing():
        files = await run_in(vault.shared.pool, _plan_restored, vault, changes)

        def write(tx: Writer, _: str = "") -> None:
            for each in changes:
                state = _restore_one(vault, tx, actor, each, files)
                import_runs.take_change_back(tx, actor, each, state)
                (tally.kept if state is None else tally.restored)[each.record.kind] += 1

        if files:
            note_change = NoteChange(file_lines.TOOL, "took changes of an import back", list(files.values()))
            await commit(vault, actor, note_change, write)
        else:
            await vault.db.write(write)


def _plan_restored(vault: Vault, changes: Sequence[ImportedChange]) -> dict[str, FileChange]:
    """The files to put back, by path: those nobody changed since."""
    files = {}
    for each in changes:
        if each.record.kind in FILE_KINDS and each.is_last:
            present = _read_unchanged(vault, each.record)
            if present is not None:
                path = str(each.record.key[0])
                files[path] = FileChange(path, present.data, each.before.encode(), stamp=present.stamp)
    return files


def _restore_one(
    vault: Vault, tx: Writer, actor: Actor, change: ImportedChange, files: Mapping[str, FileChange]
) -> str | None:
    """Put back what a change replaced; returns what the item is at then, or None where it stays as it is."""
    record = change.record
    if record.kind in FILE_KINDS:
        file = files.get(str(record.key[0]))
        return etag_of(compute_digest(file.after or b"")) if file is not None else None
    if not change.is_last or _read_state(tx, record) != record.state:
        return None
    if record.kind == "memory":
        memory_lines.restore(vault, tx, str(record.key[0]), change.before)
    elif record.kind == "document":
        document_lines.restore(vault, tx, actor, str(record.key[0]), change.before)
    else:
        record_tables.update_row(tx, RECORD_TABLES[record.kind], record.key, change.before)
    return _read_state(tx, record)


def _read_state(tx: Reader, record: ImportedRecord) -> str | None:
    """What the item of a record is at; None or empty: it is gone."""
    if record.kind == "memory":
        return memory_lines.read_state(tx, str(record.key[0]))
    if record.kind == "document":
        return document_lines.read_state(tx, str(record.key[0]))
    return record_tables.read_state(tx, RECORD_TABLES[record.kind], record.key)


async def _remove(
    vault: Vault, actor: Actor, run: ImportRun, records: Sequence[ImportedRecord], tally: UndoTally
) -> None:
    async with vault.notes.writing():
        files = await run_in(vault.shared.pool, _plan_removed, vault, records)
        if files:
            await commit(vault, actor, NoteChange(file_lines.TOOL, "took an import back", files))
    removed = {each.path for each in files}
    rows = [each for each in records if each.kind not in FILE_KINDS]
    states = await vault.db.read(lambda tx: [_read_state(tx, each) for each in rows])
    doomed = [each for each, state in zip(rows, states, strict=True) if state == each.state]
    memories = [str(each.key[0]) for each in doomed if each.kind == "memory"]
    if memories:
        await lifecycle.purge_batch(vault, actor, memories, f"import {run.id} undone")
    documents = [str(each.key[0]) for each in doomed if each.kind == "document"]
    if documents:
        await storage.remove_batch(vault, actor, documents, f"import {run.id} undone")

    def write(tx: Writer) -> None:
        for each in doomed:
            if each.kind not in ("memory", "document"):
                record_tables.delete_row(tx, RECORD_TABLES[each.kind], each.key)
        for each in records:
            import_runs.forget_record(tx, actor, each)

    await vault.db.write(write)
    tally.removed.update(each.kind for each in doomed)
    tally.removed.update(each.kind for each in records if each.key[0] in removed and each.kind in FILE_KINDS)
    tally.kept.update(each.kind for each, state in zip(rows, states, strict=True) if state and state != each.state)
    tally.kept.update(
        each.kind
        for each in records
        if each.kind in FILE_KINDS and each.key[0] not in removed and vault.notes.tree.stamp(str(each.key[0]))
    )


def _plan_removed(vault: Vault, records: Sequence[ImportedRecord]) -> list[FileChange]:
    changes = []
    for each in records:
        if each.kind in FILE_KINDS and (present := _read_unchanged(vault, each)) is not None:
            changes.append(FileChange(str(each.key[0]), present.data, None, stamp=present.stamp))
    return changes


def _read_unchanged(vault: Vault, record: ImportedRecord) -> FileContent | None:
    """The file of a record; None where it is gone, or changed since."""
    try:
        present = vault.notes.tree.read(str(record.key[0]), vault.notes.settings.max_note)
    except NotFound:
        return None
    return present if etag_of(compute_digest(present.data)) == record.state else None
