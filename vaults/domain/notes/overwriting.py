"""Noticing that a program outside wrote over what a tool had just written.

An editor that had the note open before the tool's edit may save its older text over it. Nobody can hinder it, and the
text on disk is the owner's word; but it must not go unnoticed: the change is marked, whoever reads or edits the note
next is told, and its version can be restored.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader, Writer
from vaults.domain.notes import journal
from vaults.domain.notes.intake import digest
from vaults.domain.notes.journal import Record
from vaults.errors import StrongroomError
from vaults.vault import Vault

SINCE = timedelta(minutes=15)
"""How old a change may be for its disappearance to be an accident."""

LATEST = 10
"""Changes of a note that are looked at."""

BYTES = 1024 * 1024
"""Longer notes are compared by nobody: an editor that holds one open is rare, and comparing is slow."""


def since() -> str:
    """From when on changes are looked after."""
    return clock.text(datetime.now(UTC) - SINCE)


async def notice(vault: Vault, paths: Sequence[str]) -> None:
    """Look whether notes that changed on disk lost what tools wrote into them lately."""
    recent = await vault.db.read(lambda tx: _recent(tx, paths, since()))
    for path, changes in recent.items():
        lost = await run_in(vault.shared.pool, _lost, vault, path, changes)
        if lost:
            await vault.db.write(partial(_mark, path=path, lost=lost))


def _mark(tx: Writer, path: str, lost: Sequence[int]) -> None:
    for seq in lost:
        journal.mark_overwritten(tx, seq, path)


Versions = tuple[int, str, bytes, bytes]
"""A change: its number, the digest of the version after it, the versions before and after."""


def _recent(tx: Reader, paths: Sequence[str], moment: str) -> dict[str, list[Versions]]:
    if tx.one("SELECT 1 FROM note_changes WHERE at >= ? LIMIT 1", (moment,)) is None:
        return {}
    found: dict[str, list[Versions]] = {}
    for path in paths:
        changes = [each for each in journal.made(tx, path, LATEST) if each.at >= moment]
        versions = [pair for each in changes if (pair := _versions(tx, each, path)) is not None]
        if versions:
            found[path] = versions
    return found


def _versions(tx: Reader, change: Record, path: str) -> Versions | None:
    each = next((each for each in change.files if each.target == path), None)
    if each is None or each.overwritten or each.after is None:
        return None
    before, after = journal.version(tx, each.before) or b"", journal.version(tx, each.after)
    return (change.seq, each.after, before, after) if after is not None and len(after) <= BYTES else None


def _lost(vault: Vault, path: str, changes: Sequence[Versions]) -> list[int]:
    """Numbers of the changes of which nothing is left in the note. Blocking."""
    try:
        data = vault.notes.tree.read(path, BYTES).data
    except StrongroomError:
        return []
    name, now = digest(data), _lines(data)
    if any(name == after for _, after, _, _ in changes):
        return []  # it is what a tool wrote
    return [seq for seq, _, before, after in changes if _is_lost(_lines(before), _lines(after), now)]


def _is_lost(before: set[bytes], after: set[bytes], now: set[bytes]) -> bool:
    """Whether none of the lines a change brought are there, or, where it only took some away, all of them again."""
    brought, taken = after - before, before - after
    return not brought & now if brought else bool(taken) and taken <= now


def _lines(data: bytes) -> set[bytes]:
    return {line.strip() for line in data.splitlines()} - {b""}
