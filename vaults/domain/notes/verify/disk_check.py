"""Checking that a vault's notes are indexed as they are on disk: every file is read and compared with its rows.

The owner goes on writing meanwhile, and the sync loop is always a moment behind. So a disagreement is checked again for
as long as a sync loop may still resolve it, and a file that was saved only just now does not count.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from vaults.context import run_in
from vaults.db.private_copy import read_apart
from vaults.db.sql import Reader
from vaults.domain.notes.index import file_reader, reader_pool, reconciliation
from vaults.domain.notes.index.extraction import SkippedFile
from vaults.domain.notes.sync import readiness
from vaults.domain.notes.verify import disk_state, kept_file_check, row_comparison
from vaults.domain.notes.verify.disk_state import DiskState
from vaults.errors import VaultUnavailable
from vaults.files.tree import FoundNote, WalkResult
from vaults.paces import paced
from vaults.vault import Vault

T = TypeVar("T")

JUST_SAVED_NS = 2_000_000_000
"""Max age of a save, in nanoseconds, that the index need not know of yet."""

PAUSE_S = 0.25
SLACK_S = 2.0
"""Seconds, in addition to the polling interval, until a change should have been noticed."""

PAGE = 100

CODES_OF_LAG = frozenset({"notes_stale", "notes_unindexed"})
"""Findings that an index which is merely late explains."""

OnNotesChecked = Callable[[int, int], None]


@dataclass(slots=True)
class DiskCheckResult:
    """The number of findings by code, and the files left out of the index."""

    counts: Counter[str] = field(default_factory=Counter)
    skipped: list[SkippedFile] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _DoubtfulPath:
    """A path whose rows disagree with its file."""

    codes: list[str]
    settled: bool  # the sync loop is not going to resolve it
    fresh: bool  # saved just now


async def check_notes(vault: Vault, progress: OnNotesChecked = lambda *_: None) -> DiskCheckResult:
    """Compare all notes. Memory is bounded by the longest notes, not by their number."""
    proof = DiskCheckResult()
    try:
        walk = await run_in(vault.shared.pool, vault.notes.tree.walk)
        await _compare(vault, walk, proof, progress)
        proof.counts["note_files_differ"] += await kept_file_check.count_differing(vault)
    except VaultUnavailable:
        # A folder that existed once may hold notes; one that could never be created holds none.
        kept = await vault.db.read(lambda tx: tx.one("SELECT 1 FROM vault_info WHERE key = 'notes'"))
        proof.counts["notes_unavailable"] += kept is not None
    return proof


async def _compare(vault: Vault, walk: WalkResult, result: DiskCheckResult, progress: OnNotesChecked) -> None:
    doubtful: list[str] = []
    batches, done = (
        [[file_reader.to_reread(each.path) for each in batch] for batch in reconciliation.split_batches(walk.found)],
        0,
    )
    async with aclosing(reader_pool.read_batches(vault, batches)) as stream:
        async for count, found in stream:
            seen = disk_state.to_disk_states(found)
            doubtful += await _read_apart(vault, partial(_find_doubtful, vault, seen))
            result.skipped += [*found.skipped, *found.unreadable]
            done += count
            progress(done, len(walk.found))
    await run_in(vault.shared.pool, vault.notes.tree.device)  # raises if the whole folder vanished meanwhile
    others = {each.path: DiskState(each.path, left_out=str(each.reason)) for each in walk.skipped}
    result.skipped += [SkippedFile(each.path, each.left_out or "") for each in others.values()]
    result.counts["folders_unread"] = len(walk.unread)
    doubtful += await _read_apart(vault, partial(_find_doubtful, vault, list(others.values())))
    doubtful += await vault.db.read(partial(_find_unexplained, walk.found, others, walk.unread))
    for doubt in (await _resolve_doubts(vault, doubtful)).values():
        late = (
            doubt.fresh and not doubt.settled and CODES_OF_LAG.issuperset(doubt.codes) and readiness.is_followed(vault)
        )
        result.counts.update(["notes_behind"] if late else doubt.codes)


async def _read_apart(vault: Vault, work: Callable[[Reader], T]) -> T:
    """Read on a connection of its own: none of those that calls share is busy meanwhile."""
    return await run_in(vault.shared.pool, read_apart, vault.db.path, vault.shared.storage, work)


def _find_doubtful(vault: Vault, seen: Sequence[DiskState], tx: Reader) -> list[str]:
    limit = vault.shared.index.passage_tokens
    return [each.path for each in paced(seen) if row_comparison.compare_rows(tx, each, limit)]


def _find_unexplained(
    found: Sequence[FoundNote], others: Iterable[str], unread: Sequence[str], tx: Reader
) -> list[str]:
    """Paths that have rows and that the walk did not find."""
    there = {each.path for each in found} | set(others)
    rows = tx.all("SELECT path FROM notes UNION SELECT path FROM notes_skipped")
    return [row[0] for row in rows if row[0] not in there and not reconciliation.is_within(row[0], unread)]


async def _resolve_doubts(vault: Vault, doubtful: Sequence[str]) -> dict[str, _DoubtfulPath]:
    """Check disagreements again until they are resolved, settled, or make no more progress."""
    final: dict[str, _DoubtfulPath] = {}
    left, waited = list(doubtful), 0.0
    patience = vault.notes.settings.poll_s + SLACK_S
    while left:
        started = time.monotonic()
        doubts = await _look_again(vault, left)
        final |= {path: doubt for path, doubt in doubts.items() if doubt.settled}
        moving = [path for path, doubt in doubts.items() if not doubt.settled]
        if waited >= patience or not (moving and readiness.is_followed(vault)):
            return final | {path: doubts[path] for path in moving}
        pause = max(PAUSE_S, time.monotonic() - started)  # use at most half the time, for checking many takes long
        await asyncio.sleep(pause)
        waited = waited + pause if len(moving) == len(left) else 0.0
        left = moving
    return final


async def _look_again(vault: Vault, paths: Sequence[str]) -> dict[str, _DoubtfulPath]:
    found: dict[str, _DoubtfulPath] = {}
    for start in range(0, len(paths), PAGE):
        seen = await run_in(vault.shared.pool, disk_state.read_disk_states, vault, paths[start : start + PAGE])
        found |= await vault.db.read(partial(_to_doubts, vault, seen))
    return found


def _to_doubts(vault: Vault, seen: Sequence[DiskState], tx: Reader) -> dict[str, _DoubtfulPath]:
    limit, now = vault.shared.index.passage_tokens, time.time_ns()
    return {
        each.path: _DoubtfulPath(
            codes,
            settled=row_comparison.is_settled(tx, each),
            fresh=each.extract is not None and 0 <= now - each.extract.stamp.mtime_ns < JUST_SAVED_NS,
        )
        for each in seen
        if (codes := row_comparison.compare_rows(tx, each, limit))
    }
