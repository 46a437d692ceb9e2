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
from vaults.domain.notes.index.extraction import digest
from vaults.errors import StrongroomError
from vaults.vault import Vault

SINCE = timedelta(minutes=15)
"""How old a change may be for its disappearance to be an accident."""

LATEST = 200
"""Changes of a note that are looked at: more than agents make between two looks at a note they hammer."""

MANY = 200
"""Notes that tools changed lately, looked at beside those that changed on disk."""

BYTES = 1024 * 1024
"""Longer notes are compared by nobody: an editor that holds one open is rare, and comparing is slow."""


def since() -> str:
    """From when on changes are looked after."""
    return clock.text(datetime.now(UTC) - SINCE)


@dataclass(frozen=True, slots=True)
class _Step:
    """One file of a change: digests before and after, and where it was then."""

    seq: int
    target: str
    before: str | None
    after: str | None
    marked: bool


@dataclass(frozen=True, slots=True)
class _Break:
    """A version that no tool made, ``found``, came after ``left``, which one did. ``steps``: what tools did up to
    then, newest first. ``found`` None: it is what stands on disk."""

    left: bytes
    found: bytes | None
    steps: list[tuple[_Step, bytes, bytes]]


async def notice(vault: Vault, paths: Iterable[str]) -> None:
    """Look whether notes that changed on disk lost what tools wrote into them lately. Also between two changes by
    tools: one may have been based on what another program had saved just before, unseen by anybody else."""
    for path, breaks, hash_ in await vault.db.read(lambda tx: _broken(tx, paths)):
        lost = await run_in(vault.shared.pool, _lost, vault, path, breaks, hash_)
        if lost:
            await vault.db.write(partial(_mark, lost=lost))


def touched(tx: Reader) -> list[str]:
    """Notes that tools changed lately: what to look at when nobody told of any."""
    return journal.touched(tx, _recent(tx).start, MANY)


def _recent(tx: Reader) -> range:
    """The numbers of the changes that are looked after."""
    return range(journal.after(tx, since()), int(tx.value("SELECT COALESCE(MAX(seq), 0) FROM note_changes")) + 1)


def _mark(tx: Writer, lost: Iterable[_Step]) -> None:
    for step in lost:
        journal.mark_overwritten(tx, step.seq, step.target)


def _broken(tx: Reader, paths: Iterable[str]) -> list[tuple[str, list[_Break], str]]:
    """Notes in whose recent versions some were made by no tool, with the digest of what stands there."""
    recent, found = _recent(tx), []
    for path in dict.fromkeys(paths) if recent else ():
        steps = _steps(tx, path, recent)
        known = next(iter(note_rows.known(tx, [path])), None) if steps else None
        if known is not None and (breaks := _breaks(tx, steps, known.hash)):
            found.append((path, breaks, known.hash))
    return found


def _steps(tx: Reader, path: str, recent: range) -> list[_Step]:
    """What tools did lately to the note that is at a path now, wherever it was then; newest first."""
    steps: list[_Step] = []
    while recent and len(steps) < LATEST:
        for seq, each in journal.through(tx, path, recent, LATEST):
            if each.target != path:  # it was moved away: what is here now came from nowhere
                return steps
            steps.append(_Step(seq, path, each.before, each.after, each.overwritten is not None))
            if each.before is None:
                return steps
            if each.path != path:
                recent, path = range(recent.start, seq), each.path
                break
        else:
            return steps
    return steps


def _breaks(tx: Reader, steps: Sequence[_Step], now: str) -> list[_Break]:
    names = [now, *(step.before for step in steps)]
    text = cache(partial(_text, tx))  # the version before a change is mostly the one after the change before
    found = []
    for place, step in enumerate(steps):
        if names[place] == step.after or all(each.marked for each in steps[place:]):
            continue
        left = text(step.after)
        version = text(names[place]) if place else b""
        texts = [(each, text(each.before), text(each.after)) for each in steps[place:] if not each.marked]
        whole = [(each, before or b"", after) for each, before, after in texts if after is not None]
        if left is not None and version is not None and whole:
            found.append(_Break(left, version if place else None, whole))
    return found


def _text(tx: Reader, name: str | None) -> bytes | None:
    data = journal.version(tx, name)
    return data if data is not None and len(data) <= BYTES else None


def _lost(vault: Vault, path: str, breaks: Sequence[_Break], hash_: str) -> list[_Step]:
    """The changes of which another program left nothing. Blocking."""
    lost: dict[int, _Step] = {}
    lines = cache(_lines)  # each version is compared with several
    for each in breaks:
        found = each.found if each.found is not None else _on_disk(vault, path, hash_)
        if found is None:
            continue
        left, now = lines(each.left), lines(found)
        for step, before, after in each.steps:
            was, became = lines(before), lines(after)
            if _is_lost(was, became, now) and not _is_lost(was, became, left):
                lost[step.seq] = step
    return list(lost.values())


def _on_disk(vault: Vault, path: str, hash_: str) -> bytes | None:
    """What stands there, unless that is another version by now: then it is looked at again."""
    try:
        data = vault.notes.tree.read(path, BYTES).data
    except StrongroomError:
        return None
    return data if digest(data) == hash_ else None


def _is_lost(before: set[bytes], after: set[bytes], now: set[bytes]) -> bool:
    """Whether none of the lines a change brought are there, or, where it only took some away, all of them again."""
    brought, taken = after - before, before - after
    return not brought & now if brought else bool(taken) and taken <= now


def _lines(data: bytes) -> set[bytes]:
    return {line.strip() for line in data.splitlines()} - {b""}
