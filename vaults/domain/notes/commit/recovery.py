"""Completing changes that a kill interrupted: those the journal holds as begun.

A committer holds the writing lock, so once we hold it, a change still marked as begun has lost its process. It is
completed if every file is as it was before or after; if another program has written since, it is rolled back instead,
for its caller was never answered. So is one whose caller got an error that a full disk kept out of the journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vaults.context import run_in, run_to_completion
from vaults.db.sql import Reader, Writer
from vaults.domain.notes.commit import file_placement, journal, note_files
from vaults.domain.notes.commit.file_placement import PlacedFiles
from vaults.domain.notes.commit.journal import ChangeRecord, FileChange, FileRecord
from vaults.domain.notes.commit.note_files import PackedNoteFile
from vaults.domain.notes.index import note_rows, reconciliation
from vaults.domain.notes.index.extraction import compute_digest
from vaults.errors import AlreadyExists, Conflict, InvalidArgument, NotFound, ReadOnly, TooLarge
from vaults.files.tree import FileContent, FileStamp
from vaults.vault import BackgroundJob, Vault


async def recover(vault: Vault) -> int:
    """Finish every interrupted change; returns how many there were. Raises ``StorageFull``, ``ReadOnly``,
    ``VaultUnavailable``: then a change is still unfinished, and half of it may be on disk."""
    if not await vault.db.read(journal.has_unfinished):
        return 0
    return await run_to_completion(_recover(vault))


RECOVER = BackgroundJob("recover_notes", journal.has_unfinished, recover)


async def _recover(vault: Vault) -> int:
    async with vault.notes.writing():
        return await finish_all(vault)


async def finish_all(vault: Vault) -> int:
    """Like ``recover``, for callers that hold the writing lock."""
    records = await vault.db.read(journal.list_unfinished)
    for record in records:
        await _finish_change(vault, record)
    return len(records)


async def _finish_change(vault: Vault, record: ChangeRecord) -> None:
    versions = await vault.db.read(lambda tx: _read_versions(tx, record))
    done = await run_in(vault.shared.pool, _carry_through, vault, record, versions)
    if done:
        await vault.db.write(lambda tx: _move_row(tx, record))
    paths = [path for each in record.files for path in (each.path, each.to) if path]
    await reconciliation.reconcile_paths(vault, paths)
    there = await run_in(vault.shared.pool, _pack_files, vault, paths) if vault.keeps_note_files else {}

    def end(tx: Writer) -> None:
        note_files.settle(tx, there)
        if done:
            journal.finish_change(tx, record.seq, git_owed=vault.notes.settings.history != "off")
        else:
            journal.fail_change(tx, record.seq)

    await vault.db.write(end)
    vault.notes.refused.discard(record.seq)


def _pack_files(vault: Vault, paths: Iterable[str]) -> dict[str, PackedNoteFile | None]:
    """The files at these paths; what cannot be read is left out, so that its row stays. Blocking."""
    found: dict[str, PackedNoteFile | None] = {}
    for path in paths:
        content = _content(vault, path, note_files.MAX_BYTES)
        if content is not _NO_VERSION:
            found[path] = note_files.pack_file(path, content) if content is not None else None
    return found


def _move_row(tx: Writer, record: ChangeRecord) -> None:
    """Move the row of a note that was moved and changed at once: reconciliation would take it for another note. It is
    reindexed right after."""
    for each in record.files:
        known = note_rows.find_known(tx, [each.path])
        if each.to is None or not known or known[0].hash != each.before or each.before == each.after:
            continue
        if not note_rows.find_known(tx, [each.to]):
            note_rows.move(tx, known[0].seq, each.to)


def _read_versions(tx: Reader, record: ChangeRecord) -> dict[str, bytes]:
    names = {name for each in record.files for name in (each.before, each.after) if name}
    return {name: data for name in names if (data := journal.read_version(tx, name)) is not None}


def _carry_through(vault: Vault, record: ChangeRecord, versions: dict[str, bytes]) -> bool:
    """Put in place what is missing, or roll back; returns whether the whole change is on disk. Blocking."""
    limit, tree = 1 << 30, vault.notes.tree
    ahead: list[FileChange] = []
    back: list[Sequence[FileChange] | None] = []
    whole = record.seq not in vault.notes.refused
    for each in record.files:
        here, there = _content(vault, each.path, limit), _content(vault, each.target, limit)
        forward = _steps_forward(each, here, there, versions)
        whole = whole and forward is not None
        ahead += forward or []
        back.append(_step_back(each, here, there, versions))
    steps = ahead if whole else _steps_back(back)
    try:
        first = file_placement.prepare_changes(tree, steps[: file_placement.CHUNK_FILES])
        placed = PlacedFiles(tree)
        placed.all(steps, first)
        placed.finish()
    except (AlreadyExists, Conflict, InvalidArgument, NotFound):
        return False  # another edit interfered: the files stay as they are, and the versions are kept
    return whole


def _steps_back(back: Sequence[Sequence[FileChange] | None]) -> list[FileChange]:
    """The steps back, last first; none if a version is lost, for half a rollback is worse."""
    return [] if None in back else [step for each in reversed(back) for step in each or ()]


_NO_VERSION = FileContent(b"\0 stands for what is no version of a note", FileStamp(0, 0, 0, 0))
"""Stands for a folder, a link, a pipe or an unreadable file, which somebody has put there since."""


def _content(vault: Vault, path: str, limit: int) -> FileContent | None:
    try:
        return vault.notes.tree.read(path, limit)
    except NotFound:
        return None
    except (InvalidArgument, ReadOnly, TooLarge):
        return _NO_VERSION


def _has_version(content: FileContent | None, version: str | None) -> bool:
    return (content is None) == (version is None) and (content is None or compute_digest(content.data) == version)


def _steps_forward(
    each: FileRecord, here: FileContent | None, there: FileContent | None, versions: dict[str, bytes]
) -> list[FileChange] | None:
    """What remains to do for a file; None if it is neither as before nor as after, or the version after is lost."""
    if _has_version(there, each.after) and (here is None or each.to is None):
        return []
    after = versions.get(each.after or "")
    if (after is None) != (each.after is None):
        return None
    if each.to is None:
        change = FileChange(each.path, here.data if here else None, after, stamp=here.stamp if here else None)
        return [change] if _has_version(here, each.before) else None
    if here is not None and _has_version(here, each.before) and there is None:
        return [FileChange(each.path, here.data, after, each.to, here.stamp)]
    if here is None and there is not None and _has_version(there, each.before):
        return [FileChange(each.to, there.data, after, stamp=there.stamp)]
    return None


def _step_back(
    each: FileRecord, here: FileContent | None, there: FileContent | None, versions: dict[str, bytes]
) -> Sequence[FileChange] | None:
    """What rolls a file back, if it is as after or only has its new name; None if the version before is lost."""
    if each.to is not None and here is None and there is not None and _has_version(there, each.before):
        return [FileChange(each.to, there.data, there.data, each.path, there.stamp)]
    if not _has_version(there, each.after) or (each.to and here is not None) or each.before == each.after:
        return []
    before = versions.get(each.before or "")
    if (before is None) != (each.before is None):
        return None
    data, stamp = (there.data, there.stamp) if there else (None, None)
    return [FileChange(each.target, data, before, each.path if each.to else None, stamp)]
