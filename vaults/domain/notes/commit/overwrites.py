"""Detecting that another program wrote over what a tool had just written.

An editor that had the note open before the tool's edit may save its older text over it. This cannot be prevented, and
the text on disk is authoritative; but it must not go unnoticed: the change is marked, the next reader or editor of the
note is warned, and the lost version can be restored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, partial

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader, Writer
from vaults.domain.notes.commit import journal
from vaults.domain.notes.index import note_rows
from vaults.domain.notes.index.extraction import compute_digest
from vaults.errors import StrongroomError
from vaults.vault import Vault

RECENT_SPAN = timedelta(minutes=15)
"""Max age of a change whose disappearance counts as an accident."""

MAX_CHANGES = 200
"""Max changes examined per note: more than agents make to a busy note between two looks."""

MAX_NOTES = 200
"""Max recently changed notes examined in addition to those that changed on disk."""

MAX_BYTES = 1024 * 1024
"""Max bytes of a note that is compared: comparing longer ones is slow, and editors rarely have one open."""


def recent_cutoff() -> str:
    """The time from which on changes are examined."""
    return clock.to_text(datetime.now(UTC) - RECENT_SPAN)


@dataclass(frozen=True, slots=True)
class _ChangeStep:
    """One file of a change."""

    seq: int
    target: str  # its path at the time
    before: str | None  # digest
    after: str | None  # digest
    marked: bool  # known to be overwritten


@dataclass(frozen=True, slots=True)
class _ForeignVersion:
    """A version ``found`` that no tool made, following ``left``, which a tool made. ``found`` None: the one on disk.
    ``steps``: what tools did until then, with the texts before and after, newest first."""

    left: bytes
    found: bytes | None
    steps: list[tuple[_ChangeStep, bytes, bytes]]


async def detect_overwrites(vault: Vault, paths: Iterable[str]) -> None:
    """Mark recent changes by tools that are lost from notes that changed on disk. Also looks between two changes by
    tools: the later may be based on what another program had saved just before, unseen by anybody else."""
    for path, breaks, hash_ in await vault.db.read(lambda tx: _find_foreign(tx, paths)):
        lost = await run_in(vault.shared.pool, _find_lost, vault, path, breaks, hash_)
        if lost:
            await vault.db.write(partial(_mark_lost, lost=lost))


def list_recent_paths(tx: Reader) -> list[str]:
    """Notes that tools changed recently: those to examine when no changed path is known."""
    return journal.list_touched_paths(tx, _recent_changes(tx).start, MAX_NOTES)


def _recent_changes(tx: Reader) -> range:
    """The numbers of the changes that are examined."""
    return range(
        journal.first_after(tx, recent_cutoff()), int(tx.value("SELECT COALESCE(MAX(seq), 0) FROM note_changes")) + 1
    )


def _mark_lost(tx: Writer, lost: Iterable[_ChangeStep]) -> None:
    for step in lost:
        journal.mark_overwritten(tx, step.seq, step.target)


def _find_foreign(tx: Reader, paths: Iterable[str]) -> list[tuple[str, list[_ForeignVersion], str]]:
    """Notes with recent versions that no tool made, with the digest of the present one."""
    recent, found = _recent_changes(tx), []
    for path in dict.fromkeys(paths) if recent else ():
        steps = _list_steps(tx, path, recent)
        known = next(iter(note_rows.find_known(tx, [path])), None) if steps else None
        if known is not None and (breaks := _find_breaks(tx, steps, known.hash)):
            found.append((path, breaks, known.hash))
    return found


def _list_steps(tx: Reader, path: str, recent: range) -> list[_ChangeStep]:
    """What tools did recently to the note now at a path, wherever it was then; newest first."""
    steps: list[_ChangeStep] = []
    while recent and len(steps) < MAX_CHANGES:
        for seq, each in journal.list_file_changes(tx, path, recent, MAX_CHANGES):
            if each.target != path:  # it was moved away: the present file is another one
                return steps
            steps.append(_ChangeStep(seq, path, each.before, each.after, each.overwritten is not None))
            if each.before is None:
                return steps
            if each.path != path:
                recent, path = range(recent.start, seq), each.path
                break
        else:
            return steps
    return steps


def _find_breaks(tx: Reader, steps: Sequence[_ChangeStep], now: str) -> list[_ForeignVersion]:
    names = [now, *(step.before for step in steps)]
    text = cache(partial(_read_text, tx))  # a change mostly starts from the version the previous one left
    found = []
    for place, step in enumerate(steps):
        if names[place] == step.after or all(each.marked for each in steps[place:]):
            continue
        left = text(step.after)
        version = text(names[place]) if place else b""
        texts = [(each, text(each.before), text(each.after)) for each in steps[place:] if not each.marked]
        whole = [(each, before or b"", after) for each, before, after in texts if after is not None]
        if left is not None and version is not None and whole:
            found.append(_ForeignVersion(left, version if place else None, whole))
    return found


def _read_text(tx: Reader, name: str | None) -> bytes | None:
    data = journal.read_version(tx, name)
    return data if data is not None and len(data) <= MAX_BYTES else None


def _find_lost(vault: Vault, path: str, breaks: Sequence[_ForeignVersion], hash_: str) -> list[_ChangeStep]:
    """The changes of which another program left nothing. Blocking."""
    lost: dict[int, _ChangeStep] = {}
    lines = cache(_line_set)  # each version is compared with several
    for each in breaks:
        found = each.found if each.found is not None else _read_disk(vault, path, hash_)
        if found is None:
            continue
        left, now = lines(each.left), lines(found)
        for step, before, after in each.steps:
            was, became = lines(before), lines(after)
            if _is_lost(was, became, now) and not _is_lost(was, became, left):
                lost[step.seq] = step
    return list(lost.values())


def _read_disk(vault: Vault, path: str, hash_: str) -> bytes | None:
    """The file on disk, unless it has changed again: then it will be examined again."""
    try:
        data = vault.notes.tree.read(path, MAX_BYTES).data
    except StrongroomError:
        return None
    return data if compute_digest(data) == hash_ else None


def _is_lost(before: set[bytes], after: set[bytes], now: set[bytes]) -> bool:
    """Whether all lines that a change added are gone or, if it only removed lines, all of those are back."""
    brought, taken = after - before, before - after
    return not brought & now if brought else bool(taken) and taken <= now


def _line_set(data: bytes) -> set[bytes]:
    return {line.strip() for line in data.splitlines()} - {b""}
