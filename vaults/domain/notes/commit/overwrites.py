"""Noticing that a program outside wrote over what a tool had just written.

An editor that had the note open before the tool's edit may save its older text over it. Nobody can hinder it, and the
text on disk is the owner's word; but it must not go unnoticed: the change is marked, whoever reads or edits the note
next is told, and its version can be restored.
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
"""How old a change may be for its disappearance to be an accident."""

MAX_CHANGES = 200
"""Changes of a note that are looked at: more than agents make between two looks at a note they hammer."""

MAX_NOTES = 200
"""Notes that tools changed lately, looked at beside those that changed on disk."""

MAX_BYTES = 1024 * 1024
"""Longer notes are compared by nobody: an editor that holds one open is rare, and comparing is slow."""


def recent_cutoff() -> str:
    """From when on changes are looked after."""
    return clock.to_text(datetime.now(UTC) - RECENT_SPAN)


@dataclass(frozen=True, slots=True)
class _ChangeStep:
    """One file of a change: digests before and after, and where it was then."""

    seq: int
    target: str
    before: str | None
    after: str | None
    marked: bool


@dataclass(frozen=True, slots=True)
class _ForeignVersion:
    """A version that no tool made, ``found``, came after ``left``, which one did. ``steps``: what tools did up to
    then, newest first. ``found`` None: it is what stands on disk."""

    left: bytes
    found: bytes | None
    steps: list[tuple[_ChangeStep, bytes, bytes]]


async def detect_overwrites(vault: Vault, paths: Iterable[str]) -> None:
    """Look whether notes that changed on disk lost what tools wrote into them lately. Also between two changes by
    tools: one may have been based on what another program had saved just before, unseen by anybody else."""
    for path, breaks, hash_ in await vault.db.read(lambda tx: _find_foreign(tx, paths)):
        lost = await run_in(vault.shared.pool, _find_lost, vault, path, breaks, hash_)
        if lost:
            await vault.db.write(partial(_mark_lost, lost=lost))


def list_recent_paths(tx: Reader) -> list[str]:
    """Notes that tools changed lately: what to look at when nobody told of any."""
    return journal.list_touched_paths(tx, _recent_changes(tx).start, MAX_NOTES)


def _recent_changes(tx: Reader) -> range:
    """The numbers of the changes that are looked after."""
    return range(
        journal.first_after(tx, recent_cutoff()), int(tx.value("SELECT COALESCE(MAX(seq), 0) FROM note_changes")) + 1
    )


def _mark_lost(tx: Writer, lost: Iterable[_ChangeStep]) -> None:
    for step in lost:
        journal.mark_overwritten(tx, step.seq, step.target)


def _find_foreign(tx: Reader, paths: Iterable[str]) -> list[tuple[str, list[_ForeignVersion], str]]:
    """Notes in whose recent versions some were made by no tool, with the digest of what stands there."""
    recent, found = _recent_changes(tx), []
    for path in dict.fromkeys(paths) if recent else ():
        steps = _list_steps(tx, path, recent)
        known = next(iter(note_rows.find_known(tx, [path])), None) if steps else None
        if known is not None and (breaks := _find_breaks(tx, steps, known.hash)):
            found.append((path, breaks, known.hash))
    return found


def _list_steps(tx: Reader, path: str, recent: range) -> list[_ChangeStep]:
    """What tools did lately to the note that is at a path now, wherever it was then; newest first."""
    steps: list[_ChangeStep] = []
    while recent and len(steps) < MAX_CHANGES:
        for seq, each in journal.list_file_changes(tx, path, recent, MAX_CHANGES):
            if each.target != path:  # it was moved away: what is here now came from nowhere
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
    text = cache(partial(_read_text, tx))  # the version before a change is mostly the one after the change before
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
    """What stands there, unless that is another version by now: then it is looked at again."""
    try:
        data = vault.notes.tree.read(path, MAX_BYTES).data
    except StrongroomError:
        return None
    return data if compute_digest(data) == hash_ else None


def _is_lost(before: set[bytes], after: set[bytes], now: set[bytes]) -> bool:
    """Whether none of the lines a change brought are there, or, where it only took some away, all of them again."""
    brought, taken = after - before, before - after
    return not brought & now if brought else bool(taken) and taken <= now


def _line_set(data: bytes) -> set[bytes]:
    return {line.strip() for line in data.splitlines()} - {b""}
