"""Carrying through what a kill interrupted: changes that the journal holds as begun.

Whoever commits holds the writing lock, so a change that is still begun once the lock is ours has nobody left. It is
carried through where every file is as it was before or after; where another program has written since, it is taken
back instead: its caller was never answered. So is one whose caller was refused, when the disk was too full to say so in
the journal.
"""

from __future__ import annotations

from collections.abc import Sequence

from vaults.context import carried_through, run_in
from vaults.db.sql import Reader, Writer
from vaults.domain.notes.commit import file_placement, journal
from vaults.domain.notes.commit.file_placement import Placed
from vaults.domain.notes.commit.journal import FileChange, FileRecord, Record
from vaults.domain.notes.index import note_rows, reconciliation
from vaults.domain.notes.index.extraction import digest
from vaults.errors import AlreadyExists, Conflict, InvalidArgument, NotFound, ReadOnly, TooLarge
from vaults.files.tree import Content, Stamp
from vaults.vault import Chore, Vault


async def recover(vault: Vault) -> int:
    """Finish every interrupted change; returns how many there were. Raises ``StorageFull``, ``ReadOnly``,
    ``VaultUnavailable``: then a change is still to be finished, and half of it may stand."""
    if not await vault.db.read(journal.is_torn):
        return 0
    return await carried_through(_recover(vault))


MEND = Chore(journal.is_torn, recover)


async def _recover(vault: Vault) -> int:
    async with vault.notes.writing():
        return await finish_all(vault)


async def finish_all(vault: Vault) -> int:
    """As ``recover``, for who holds the writing lock."""
    records = await vault.db.read(journal.pending)
    for record in records:
        await _finish(vault, record)
    return len(records)


async def _finish(vault: Vault, record: Record) -> None:
    versions = await vault.db.read(lambda tx: _versions(tx, record))
    done = await run_in(vault.shared.pool, _carry, vault, record, versions)
    if done:
        await vault.db.write(lambda tx: _follow(tx, record))
    await reconciliation.these(vault, [path for each in record.files for path in (each.path, each.to) if path])
    if done:
        await vault.db.write(lambda tx: journal.finish(tx, record.seq, git_owed=vault.notes.settings.history != "off"))
    else:
        await vault.db.write(lambda tx: journal.fail(tx, record.seq))
    vault.notes.refused.discard(record.seq)


def _follow(tx: Writer, record: Record) -> None:
    """Let the row of a note that was moved, and changed by that, follow it: whoever looks at the files takes it for
    another note. It is read anew at once."""
    for each in record.files:
        held = note_rows.known(tx, [each.path])
        if each.to is None or not held or held[0].hash != each.before or each.before == each.after:
            continue
        if not note_rows.known(tx, [each.to]):
            note_rows.move(tx, held[0].seq, each.to)


def _versions(tx: Reader, record: Record) -> dict[str, bytes]:
    names = {name for each in record.files for name in (each.before, each.after) if name}
    return {name: data for name in names if (data := journal.version(tx, name)) is not None}


def _carry(vault: Vault, record: Record, versions: dict[str, bytes]) -> bool:
    """Put in place what is missing; whether the whole change stands now. Blocking."""
    limit, tree = 1 << 30, vault.notes.tree
    ahead: list[FileChange] = []
    back: list[Sequence[FileChange] | None] = []
    whole = record.seq not in vault.notes.refused
    for each in record.files:
        here, there = _content(vault, each.path, limit), _content(vault, each.target, limit)
        forward = _forward(each, here, there, versions)
        whole = whole and forward is not None
        ahead += forward or []
        back.append(_backward(each, here, there, versions))
    steps = ahead if whole else _taken_back(back)
    try:
        first = file_placement.prepared(tree, steps[: file_placement.CHUNK])
        placed = Placed(tree)
        placed.all(steps, first)
        placed.finish()
    except (AlreadyExists, Conflict, InvalidArgument, NotFound):
        return False  # yet another edit came: what stands there stays, the versions are kept
    return whole


def _taken_back(back: Sequence[Sequence[FileChange] | None]) -> list[FileChange]:
    """The steps back, last first; none where a version is not to be had: it would be taken back by half."""
    return [] if None in back else [step for each in reversed(back) for step in each or ()]


_ODD = Content(b"\0 stands for what is no version of a note", Stamp(0, 0, 0, 0))
"""A folder, a link, a pipe, or what may not be read: its owner has put it there since."""


def _content(vault: Vault, path: str, limit: int) -> Content | None:
    try:
        return vault.notes.tree.read(path, limit)
    except NotFound:
        return None
    except (InvalidArgument, ReadOnly, TooLarge):
        return _ODD


def _is(content: Content | None, version: str | None) -> bool:
    return (content is None) == (version is None) and (content is None or digest(content.data) == version)


def _forward(
    each: FileRecord, here: Content | None, there: Content | None, versions: dict[str, bytes]
) -> list[FileChange] | None:
    """What is left to do for a file; None where it is neither as before nor as after, or the version after is lost."""
    if _is(there, each.after) and (here is None or each.to is None):
        return []
    after = versions.get(each.after or "")
    if (after is None) != (each.after is None):
        return None
    if each.to is None:
        change = FileChange(each.path, here.data if here else None, after, stamp=here.stamp if here else None)
        return [change] if _is(here, each.before) else None
    if here is not None and _is(here, each.before) and there is None:
        return [FileChange(each.path, here.data, after, each.to, here.stamp)]
    if here is None and there is not None and _is(there, each.before):
        return [FileChange(each.to, there.data, after, stamp=there.stamp)]
    return None


def _backward(
    each: FileRecord, here: Content | None, there: Content | None, versions: dict[str, bytes]
) -> Sequence[FileChange] | None:
    """What takes a file back to where it was, if it is as after, or has only got its new name; None where the version
    before is lost."""
    if each.to is not None and here is None and there is not None and _is(there, each.before):
        return [FileChange(each.to, there.data, there.data, each.path, there.stamp)]
    if not _is(there, each.after) or (each.to and here is not None) or each.before == each.after:
        return []
    before = versions.get(each.before or "")
    if (before is None) != (each.before is None):
        return None
    data, stamp = (there.data, there.stamp) if there else (None, None)
    return [FileChange(each.target, data, before, each.path if each.to else None, stamp)]
