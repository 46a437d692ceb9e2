"""Reconciling the index with the files: what to read, what moved, what is gone. The plan is pure.

Rows are derived, so nothing here can lose a note; but a note wrongly taken for gone loses its number, and searches miss
it. So what could not be listed or read does not count as gone, and a folder that suddenly loses most of its notes is
checked twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial

from vaults.context import run_in
from vaults.db.sql import Reader, Writer
from vaults.domain.notes.index import note_rows, reader_pool
from vaults.domain.notes.index.extraction import NoteExtract, SkippedFile
from vaults.domain.notes.index.file_reader import ReadBatch
from vaults.domain.notes.index.note_rows import KnownNote
from vaults.errors import VaultUnavailable
from vaults.files import file_batches
from vaults.files.tree import FileStamp, FoundNote, WalkResult
from vaults.graph.link_feedback import proactive_queue
from vaults.index.passage_updates import PassageUpdates
from vaults.vault import Vault

RACY_NS = 50_000_000
"""Nanoseconds before a reading within which a write may be followed by another with the same stamp: file systems count
time in steps of a few milliseconds."""

STALE_NS = 60_000_000_000
"""Max nanoseconds by which a row may be newer than a reading and win over it; beyond that, the clock was changed."""

BATCH_FILES, BATCH_BYTES = 100, 4 * 1024 * 1024
"""Max notes, and bytes of notes, that are read and indexed in one transaction."""

MANY_NOTES = 20
"""Max missing notes that never count as a lost mount or folder."""


@dataclass(frozen=True, slots=True)
class ReconcilePlan:
    """What to do to bring the rows up to date."""

    read: list[FoundNote] = field(default_factory=list)
    moved: list[tuple[KnownNote, FoundNote]] = field(default_factory=list)  # at another path, otherwise unchanged
    gone: list[KnownNote] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)  # known digests of notes to read: if equal, only touch the row


def plan_reconcile(
    known: Iterable[KnownNote],
    found: Iterable[FoundNote],
    unread: Sequence[str] = (),
    *,
    touched: Collection[str] = (),
) -> ReconcilePlan:
    """Compare rows with files. ``unread``: folders that could not be listed; their rows stay. ``touched``: files that
    something happened to, whatever their stamps say. Pure."""
    before = {each.path: each for each in known}
    now = {each.path: each for each in found}
    new = [each for path, each in now.items() if path not in before]
    gone = [each for path, each in before.items() if path not in now and not is_within(path, unread)]
    changed = [
        now[path]
        for path, each in before.items()
        if path in now and (path in touched or not is_unchanged(each, now[path].stamp))
    ]
    by_stamp = {each.stamp: each for each in gone if is_unchanged(each, each.stamp)}
    moved = [(by_stamp.pop(each.stamp), each) for each in new if each.stamp in by_stamp]
    arrived, left = {there.path for _, there in moved}, {known.path for known, _ in moved}
    return ReconcilePlan(
        read=[*changed, *(each for each in new if each.path not in arrived)],
        moved=moved,
        gone=[each for each in gone if each.path not in left],
        held={each.path: before[each.path].hash for each in changed},
    )


def is_unchanged(known: KnownNote, stamp: FileStamp) -> bool:
    """Whether a file is certainly as it was when read, and was read whole."""
    return known.complete and known.stamp == stamp and stamp.mtime_ns + RACY_NS < known.read_ns


def is_within(path: str, folders: Sequence[str]) -> bool:
    """Whether a path lies in one of the folders; '' is the notes folder itself."""
    return any(not folder or path == folder or path.startswith(f"{folder}/") for folder in folders)


@dataclass(frozen=True, slots=True)
class ReconcileOutcome:
    """What a reconciliation changed, by path. ``owed``: vectors are missing."""

    changed: list[str]
    gone: list[str]
    owed: bool

    @property
    def paths(self) -> list[str]:
        """Every note that changed or is gone."""
        return [*self.changed, *self.gone]


OnProgress = Callable[[int, int], None]
"""Called now and then with the number of notes read, and of how many."""


async def reconcile_all(vault: Vault, report: OnProgress = lambda *_: None, *, expected: int = 0) -> ReconcileOutcome:
    """Reconcile all files. Raises ``VaultUnavailable`` if the folder cannot be read or its disk is gone, and
    ``NotesVanished`` if most notes are missing, unless as many (``expected``) were missing before."""
    async with vault.notes.looking:
        return await _reconcile_all(vault, report, expected)


async def _reconcile_all(vault: Vault, report: OnProgress, expected: int) -> ReconcileOutcome:
    # Rows first: a note that a tool makes in between then looks new, not gone.
    known = await vault.db.read(note_rows.find_known)
    walk = await run_in(vault.shared.pool, vault.notes.tree.walk)
    todo = plan_reconcile(known, _as_known(vault, known, walk.found), walk.unread)
    missing = len(todo.gone)
    if missing > MANY_NOTES and missing * 2 > len(known):
        if not walk.found and vault.notes.tree.device() != known[0].stamp.device:
            raise VaultUnavailable("the disk of the notes folder is not there")
        if missing > expected:
            raise NotesVanished(missing)
    return await _apply(vault, todo, walk, None, report)


class NotesVanished(VaultUnavailable):
    """Most notes are missing: the disk may come back. ``missing`` says how many."""

    def __init__(self, missing: int) -> None:
        super().__init__("most notes are missing of a sudden", hint="they are looked for once more")
        self.missing = missing


async def reconcile_paths(vault: Vault, paths: Iterable[str]) -> ReconcileOutcome:
    """Reconcile files and folders where something happened."""
    async with vault.notes.looking:
        return await _apply(vault, *await _look_at(vault, list(dict.fromkeys(paths))))


async def read_whole(vault: Vault, paths: Iterable[str]) -> ReconcileOutcome:
    """Read notes with links and tasks, even if their text is already known."""
    async with vault.notes.looking:
        todo, walk, asked = await _look_at(vault, list(dict.fromkeys(paths)))
        return await _apply(vault, replace(todo, held={}), walk, asked)


async def _look_at(vault: Vault, asked: Sequence[str]) -> tuple[ReconcilePlan, WalkResult, Sequence[str]]:
    known = await vault.db.read(lambda tx: _find_known(tx, asked))
    walks = await run_in(vault.shared.pool, lambda: [vault.notes.tree.walk_folder(path) for path in asked])
    walk = WalkResult(
        list({each.path: each for part in walks for each in part.found}.values()),
        list({each.path: each for part in walks for each in part.skipped}.values()),
        [each for part in walks for each in part.unread],
    )
    found = _as_known(vault, known, walk.found)
    return plan_reconcile(known, found, walk.unread, touched=frozenset(asked)), walk, asked


def _as_known(vault: Vault, known: Iterable[KnownNote], found: Sequence[FoundNote]) -> Sequence[FoundNote]:
    """What was found, with the stamps of rows of the same size and time where the folder is laid out from rows: which
    file it is and on which disk then differs from server to server."""
    if not vault.keeps_note_files:
        return found
    stamps = {each.path: each.stamp for each in known}
    return [
        replace(each, stamp=before)
        if (before := stamps.get(each.path)) is not None and _is_alike(before, each)
        else each
        for each in found
    ]


def _is_alike(before: FileStamp, each: FoundNote) -> bool:
    return (before.size, before.mtime_ns) == (each.stamp.size, each.stamp.mtime_ns)


def _find_known(tx: Reader, paths: Sequence[str]) -> list[KnownNote]:
    found = [*note_rows.find_known(tx, paths), *(each for path in paths for each in note_rows.find_below(tx, path))]
    return list({each.path: each for each in found}.values())


@dataclass(slots=True)
class _ReconcileRun:
    """A plan being carried out."""

    vault: Vault
    left: dict[str, KnownNote]  # by path: notes whose files are gone, until another path takes them over
    taken_over: Mapping[str, KnownNote]  # by new path: notes that were renamed
    known: Mapping[str, str]  # digests by path, as in ``ReconcilePlan.held``
    texts: dict[str, list[KnownNote]] = field(default_factory=dict)  # the notes in ``left``, by digest
    changed: list[str] = field(default_factory=list)
    skipped: list[SkippedFile] = field(default_factory=list)
    unreadable: list[SkippedFile] = field(default_factory=list)
    owed: bool = False

    def put(self, tx: Writer, found: ReadBatch) -> None:
        updates = PassageUpdates(self.vault.shared.index.passage_tokens)
        for extract in found.extracts:
            self._put(tx, extract, updates)
        self.owed = note_rows.write_passages(tx, updates, find_model(self.vault, tx)) or self.owed
        for same in found.same:
            for row in note_rows.find_known(tx, [same.path]):
                if row.hash == self.known[same.path]:
                    note_rows.touch(tx, row.seq, same.stamp, same.read_ns)

    def _put(self, tx: Writer, extract: NoteExtract, updates: PassageUpdates) -> None:
        row = next(iter(note_rows.find_known(tx, [extract.path])), None)
        before = self.taken_over.get(extract.path)
        if row is not None and before is not None:  # a tool has made a row for the new path; the old one is orphaned
            self.left[before.path] = before
        if row is not None and row.hash == extract.hash and row.complete:
            note_rows.touch(tx, row.seq, extract.stamp, extract.read_ns)
            return
        if row is not None and is_outdated(row, extract):
            return  # a tool wrote the note after this was read, and updated the rows
        number = self._number(tx, before or self._same_text(extract)) if row is None else None
        note_rows.write_note(tx, extract, updates, number)
        if self.vault.shared.links.proactive and (row is not None or self.vault.notes.progress.phase == "ready"):
            proactive_queue.enqueue(tx, extract.path)  # but not during a vault's first scan
        self.changed.append(extract.path)

    def _same_text(self, extract: NoteExtract) -> KnownNote | None:
        """A note with the same text whose file at another path is gone: it was moved here."""
        some = self.texts.get(extract.hash, [])
        while some:
            if (found := self.left.pop(some.pop().path, None)) is not None:
                return found
        return None

    def _number(self, tx: Reader, before: KnownNote | None) -> int | None:
        """The row of a note that was moved, unless a tool has changed it since it was listed."""
        return before.seq if before is not None and note_rows.find_known(tx, [before.path]) == [before] else None


async def _apply(
    vault: Vault,
    plan: ReconcilePlan,
    walk: WalkResult,
    asked: Sequence[str] | None,
    report: OnProgress = lambda *_: None,
) -> ReconcileOutcome:
    """Carry out a plan in short transactions. ``asked``: the paths that were examined; None: all."""
    renamed = {there.path: known for known, there in plan.moved if _file_name(known.path) != _file_name(there.path)}
    plain = [(known, there.path) for known, there in plan.moved if there.path not in renamed]
    run = _ReconcileRun(vault, {each.path: each for each in plan.gone}, renamed, plan.held)
    for each in plan.gone:
        run.texts.setdefault(each.hash, []).append(each)
    if plain:
        await vault.db.write(lambda tx: _move_rows(tx, plain))
    reads = [*plan.read, *(there for _, there in plan.moved if there.path in renamed)]
    await _read_all(run, reads, report)
    skipped = [*(SkippedFile(each.path, str(each.reason)) for each in walk.skipped), *run.skipped, *run.unreadable]
    lost = [*(each.path for each in walk.skipped), *(each.path for each in run.skipped)]
    gone = list(run.left.values())
    if not await vault.db.read(lambda tx: _is_settled(tx, gone, lost, skipped, asked)):
        await vault.db.write(lambda tx: _finish(tx, gone, lost, skipped, asked))
    changed = [*run.changed, *(path for _, path in plain)]
    return ReconcileOutcome(changed, [*run.left, *(known.path for known, _ in plan.moved)], run.owed)


def _move_rows(tx: Writer, moved: Sequence[tuple[KnownNote, str]]) -> None:
    for known, path in moved:
        if note_rows.find_known(tx, [known.path]) != [known]:
            continue
        if note_rows.find_known(tx, [path]):  # a tool has made a row for the new path since the listing
            note_rows.drop(tx, [known.seq])
        else:
            note_rows.move(tx, known.seq, path)


async def _read_all(run: _ReconcileRun, reads: Sequence[FoundNote], report: OnProgress) -> None:
    """Read a batch while the one before it is being indexed."""
    wanted = [[(each.path, run.known.get(each.path)) for each in batch] for batch in split_batches(reads)]
    done = 0
    async with aclosing(reader_pool.read_batches(run.vault, wanted)) as stream:
        async for count, found in stream:
            await run.vault.db.write(partial(run.put, found=found))
            run.skipped += found.skipped
            run.unreadable += found.unreadable
            done += count
            report(done, len(reads))


def split_batches(found: Sequence[FoundNote]) -> Iterator[list[FoundNote]]:
    """Split files into batches of bounded number and size."""
    return file_batches.split_batches(found, BATCH_FILES, BATCH_BYTES)


def _is_settled(
    tx: Reader,
    gone: Sequence[KnownNote],
    lost: Sequence[str],
    skipped: Sequence[SkippedFile],
    asked: Sequence[str] | None,
) -> bool:
    """Whether ``_finish`` would change nothing, as after most looks. Emptying a table that is empty writes its page all
    the same: a commit for each vault that is opened, and each minute that it is open."""
    recorded = note_rows.list_skipped(tx, asked)
    return not gone and not note_rows.find_known(tx, lost) and recorded == {each.path: each.reason for each in skipped}


def _finish(
    tx: Writer,
    gone: Sequence[KnownNote],
    lost: Sequence[str],
    skipped: Sequence[SkippedFile],
    asked: Sequence[str] | None,
) -> None:
    # What a tool has moved or recreated since it was listed is not gone.
    unchanged = [each for each in gone if note_rows.find_known(tx, [each.path]) == [each]]
    numbers = {each.seq for each in (*unchanged, *note_rows.find_known(tx, lost))}
    if numbers:
        note_rows.drop(tx, sorted(numbers))
    note_rows.record_skipped(tx, skipped, asked)


def find_model(vault: Vault, tx: Reader) -> str | None:
    """The model whose vectors the vault holds; until the model is loaded, the one recorded last."""
    model = vault.embedder.identity
    return model.key if model else tx.value("SELECT value FROM vault_info WHERE key = 'model'")


def is_outdated(known: KnownNote, extract: NoteExtract) -> bool:
    """Whether a reading is of an earlier version of the file than its row."""
    return known.stamp != extract.stamp and 0 < known.read_ns - extract.read_ns < STALE_NS


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]
