"""The only way a tool changes files: journal, files, rows, in this order, as one transaction.

1. The journal durably records what is about to be done, with the versions before and after, while the new bytes are
   written and synced under hidden names.
2. The files are put in place, each by one rename. A file that has changed since it was read stops the change, and
   those before it are rolled back.
3. Rows and passages follow, and the journal says done: now searches find the change, and the caller is answered.

After a kill later than 1 the change is completed when the vault is next opened (``recovery``); an earlier kill changes
nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from vaults.change_notes import ContentHash
from vaults.context import begin_in, run_in, run_to_completion
from vaults.db.sql import Writer
from vaults.domain.actors import Actor
from vaults.domain.notes.commit import file_placement, journal, late_writes, note_files, recovery
from vaults.domain.notes.commit.file_placement import PlacedFiles
from vaults.domain.notes.commit.journal import BegunChange, FileChange, NoteChange, UnfinishedChange, VersionNames
from vaults.domain.notes.commit.version_store import PackedVersion, VersionForgotten
from vaults.domain.notes.index import extraction, note_rows
from vaults.domain.notes.index.extraction import NoteExtract
from vaults.domain.notes.index.reconciliation import find_model, is_outdated
from vaults.errors import StrongroomError
from vaults.files.tree import FileContent, FileStamp, Tree
from vaults.graph.link_feedback import proactive_queue
from vaults.index.passage_updates import PassageUpdates
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class CommittedChange:
    """A change that was made. ``etags``: by path, of each file that exists now."""

    id: str
    seq: int
    etags: dict[str, str]


WriteBeside = Callable[[Writer, str], None]
"""Writes further rows in the transaction of a change, whose id it is given."""


def write_nothing(_: Writer, change: str) -> None:
    """A ``WriteBeside`` that writes nothing."""


async def commit(
    vault: Vault, actor: Actor, change: NoteChange, write_beside: WriteBeside = write_nothing
) -> CommittedChange:
    """Make a change. The caller must hold ``vault.notes.writing()`` from before it read the files. Raises ``Conflict``
    (a file changed since it was read), ``AlreadyExists``, ``StorageFull``, ``ReadOnly``: then nothing is changed."""
    if any(len(each.after or b"") > len(each.before or b"") for each in change.files):
        vault.check_writable()
    elif any(each.after is None and each.to is None for each in change.files):
        await vault.disk.make_room()
    else:
        vault.disk.check_in_place()  # the reserve of free space is for writes that free some
    return await run_to_completion(_commit(vault, actor, change, write_beside))


async def _commit(vault: Vault, actor: Actor, change: NoteChange, write_beside: WriteBeside) -> CommittedChange:
    pool = vault.shared.pool
    # First, and not as a task: its thread waits for the disk while the next one works, which waits for nothing.
    first = change.files[: file_placement.CHUNK_FILES]
    preparing = begin_in(pool, file_placement.prepare_changes, vault.notes.tree, first)
    try:
        prepared = await run_in(pool, _prepare_commit, vault.notes.tree, change, dict(vault.notes.kept))
        begun = await _begin(vault, actor, change, prepared)
    except BaseException:
        await asyncio.gather(preparing, return_exceptions=True)
        if not preparing.cancelled() and preparing.exception() is None:
            for step in preparing.result():
                step.discard()
        raise
    placed = PlacedFiles(vault.notes.tree)
    try:
        await run_in(pool, placed.all, change.files, await preparing)

        def record(tx: Writer) -> None:
            # On the database's thread: for ten thousand notes it would block the event loop for 0.1 s.
            _record(vault, tx, begun.seq, change, _with_stamps(prepared.readings, placed))
            if vault.keeps_note_files:
                note_files.record_change(tx, change.files, prepared.names, placed.stamps)
            _note_changes(tx, change, prepared.names)
            write_beside(tx, begun.id)

        await (vault.db.write_exclusive if len(change.files) > MANY_FILES else vault.db.write)(record)
    except BaseException:
        await _roll_back(vault, begun.seq, placed)
        raise
    if placed.hides:
        await run_in(pool, placed.finish)
    late_writes.watch_late_writes(vault)
    vault.start_background_work_soon()
    vault.shared.on_notes_changed(vault.name, [path for each in change.files for path in (each.path, each.to) if path])
    etags = {
        each.target: extraction.etag_of(after)
        for each, (_, after) in zip(change.files, prepared.names, strict=True)
        if after
    }
    return CommittedChange(begun.id, begun.seq, etags)


async def _roll_back(vault: Vault, seq: int, placed: PlacedFiles) -> None:
    """Roll back the placed files, and record that in the journal. What a full disk prevents, ``recovery`` does later,
    for the caller is told that nothing was changed."""
    vault.notes.refused.add(seq)
    with suppress(StrongroomError):
        await run_in(vault.shared.pool, placed.take_back)
        await vault.db.write(lambda tx: journal.fail_change(tx, seq))
        vault.notes.refused.discard(seq)


@dataclass(frozen=True, slots=True)
class _PreparedCommit:
    """A change ready to commit: the names of its versions, those to store, and its files as the indexes take them."""

    names: VersionNames
    versions: list[PackedVersion]
    readings: list[NoteExtract]


def _prepare_commit(tree: Tree, change: NoteChange, known: Mapping[str, int]) -> _PreparedCommit:
    names = journal.name_versions(change)
    return _PreparedCommit(
        names, journal.pack_versions(change, names, known), _extract_files(tree, change.files, names)
    )


async def _begin(vault: Vault, actor: Actor, change: NoteChange, prepared: _PreparedCommit) -> BegunChange:
    """Record the change, after finishing an interrupted one if need be."""

    async def begin(found: list[PackedVersion]) -> BegunChange:
        return await vault.db.write(lambda tx: journal.begin_change(tx, actor, change, prepared.names, found))

    begun, found = None, prepared.versions
    while begun is None:
        try:
            begun = await begin(found)
        except UnfinishedChange:
            await recovery.finish_all(vault)
        except VersionForgotten:  # the journal was pruned since, or another process changed it
            found = await run_in(vault.shared.pool, journal.pack_versions, change, prepared.names, {})
    vault.notes.kept.update(begun.kept)
    while len(vault.notes.kept) > MAX_RECENT_VERSIONS:
        del vault.notes.kept[next(iter(vault.notes.kept))]
    return begun


def _extract_files(tree: Tree, files: Sequence[FileChange], names: VersionNames) -> list[NoteExtract]:
    """The files of a change as the indexes take them, before they are in place: without stamps. Files in folders that
    the owner excludes are left out."""
    return [
        extraction.extract_note(
            each.target,
            FileContent(each.after, NO_STAMP),
            0,
            whole=len(each.after) <= extraction.LONG_BYTES,
            digest=name,
        )
        for each, (_, name) in zip(files, names, strict=True)
        if each.after is not None and tree.covers(each.target)
    ]


NO_STAMP = FileStamp(0, 0, 0, 0)

MANY_FILES = 50
"""Number of files above which a change's rows get a transaction of their own."""

MAX_RECENT_VERSIONS = 256
"""Max versions remembered as stored: a change mostly starts from what the one before it left."""


def _with_stamps(extracts: Sequence[NoteExtract], placed: PlacedFiles) -> list[NoteExtract]:
    """Stamp the extracts, now that the files are in place. Each gets the time just before its file was placed: anything
    read later may be another program's text, and takes precedence."""
    stamps = placed.stamps
    return [extraction.with_stamp(each, stamps[each.path], placed.since[each.path]) for each in extracts]


def _record(vault: Vault, tx: Writer, seq: int, change: NoteChange, extracts: Sequence[NoteExtract]) -> None:
    """Update rows and journal after the files."""
    index_files(vault, tx, change.files, extracts)
    journal.finish_change(tx, seq, git_owed=vault.notes.settings.history != "off")
    journal.prune(tx, vault.notes.settings)


def _note_changes(tx: Writer, change: NoteChange, names: VersionNames) -> None:
    for each, (before, after) in zip(change.files, names, strict=True):
        was, is_now = _to_hash(before), _to_hash(after)
        tx.note_change("note", each.path, was, None if each.to else is_now)
        if each.to:
            tx.note_change("note", each.to, None, is_now)


def _to_hash(name: str | None) -> ContentHash | None:
    return None if name is None else ContentHash(name)


def index_files(vault: Vault, tx: Writer, files: Sequence[FileChange], extracts: Sequence[NoteExtract]) -> None:
    """Update the rows of changed files. A moved note keeps its number, and so its passages and vectors."""
    model, by_path = find_model(vault, tx), {extract.path: extract for extract in extracts}
    updates = PassageUpdates(vault.shared.index.passage_tokens)

    def drop(numbers: Sequence[int]) -> None:
        if numbers:  # what was gathered must not come back for a note that is gone
            note_rows.write_passages(tx, updates, model)
            note_rows.drop(tx, numbers)

    for each in files:
        known = next(iter(note_rows.find_known(tx, [each.path])), None)
        there = next(iter(note_rows.find_known(tx, [each.target])), None) if each.to else known
        extract = by_path.get(each.target)
        if extract is None:  # removed, or left out
            drop([known.seq] if known else [])
            continue
        if there and is_outdated(there, extract):  # the watcher was quicker, and read what another program wrote since
            drop([known.seq] if known and known.seq != there.seq else [])
            continue
        if each.to and known and there and there.seq != known.seq:  # the watcher was quicker
            drop([there.seq])
            there = None
        number = there or known
        note_rows.write_note(tx, extract, updates, number.seq if number else None)
        if vault.shared.links.proactive:
            proactive_queue.enqueue(tx, extract.path)
    note_rows.write_passages(tx, updates, model)
