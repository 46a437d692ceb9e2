"""Keeping an open vault's index in sync: finish interrupted changes, read what changed meanwhile, follow changes.

One process does this for a vault, the one that holds its lease; others that open the vault use the rows it writes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing
from functools import partial

from vaults.background_work import LastingTask
from vaults.context import run_in
from vaults.domain.notes.commit import overwrites, recovery
from vaults.domain.notes.index import note_rows, reconciliation
from vaults.domain.notes.index.reconciliation import NotesVanished, ReconcileOutcome
from vaults.domain.notes.sync import folder_take_up
from vaults.errors import ReadOnly, StorageFull, StrongroomError, VaultUnavailable
from vaults.files.ignore_rules import IGNORE_FILE
from vaults.files.notebook import IndexProgress
from vaults.files.watch.folder_watcher import Watcher, WatchTimes
from vaults.vault import BackgroundJob, Vault

AGAIN_S = 2.0
"""Seconds until notes of which most suddenly vanished are looked for again."""

QUIET_S = 1.5
"""Seconds without an edit after which a long note's links and tasks are read."""

RETRY_S = 5.0
"""Seconds after a failure until everything is scanned again."""


def keep_in_sync(vault: Vault) -> LastingTask:
    """``run_sync_loop`` for a vault that is opened."""
    return LastingTask("follow_notes", partial(run_sync_loop, vault))


async def run_sync_loop(vault: Vault) -> None:
    """Keep the index in sync with the files until cancelled. Never raises for what happens to files or disk; any other
    exception is reported in the vault's status, and the caller restarts the loop."""
    try:
        await _follow_changes(vault)
    except Exception as failure:
        vault.notes.watcher = None
        reason = f"following the files failed ({type(failure).__name__}); it begins again"
        vault.notes.report(IndexProgress("unavailable", reason=reason))
        raise


async def _follow_changes(vault: Vault) -> None:
    settings = vault.notes.settings
    if settings.watch == "off":
        await _sync_paths(vault, None)
        return
    times = WatchTimes(poll_s=settings.poll_s, rescan_s=settings.rescan_s)
    watcher = Watcher(vault.notes.root, settings.watch, times)
    vault.notes.watcher = watcher
    async with aclosing(watcher.changes()) as changes:
        async for changed in changes:
            rescan = changed.rescan or IGNORE_FILE in changed.paths or vault.notes.progress.phase == "unavailable"
            started = time.monotonic()
            await _sync_paths(vault, None if rescan else sorted(changed.paths))
            if rescan:
                watcher.record_full_look(time.monotonic() - started)


async def _sync_paths(vault: Vault, paths: Sequence[str] | None) -> None:
    """Sync everything (None) or some paths, with all that follows from it. A failure is reported in the vault's status
    and retried with the next sync."""
    try:
        unfinished = await _finish_interrupted(vault)
        await folder_take_up.take_up_folder(vault, paths)
        outcome = await (_sync_all(vault) if paths is None else reconciliation.reconcile_paths(vault, paths))
        looked_at = paths if paths is not None else await vault.db.read(overwrites.list_recent_paths)
        await overwrites.detect_overwrites(vault, [*outcome.changed, *looked_at])
    except VaultUnavailable as failure:
        vault.notes.report(IndexProgress("unavailable", reason=failure.message))
        await asyncio.sleep(RETRY_S)
        return
    except StrongroomError as failure:  # the disk is full, or the database busy: retried with the next sync
        vault.notes.report(IndexProgress("ready", reason=failure.message))
        return
    vault.notes.report(IndexProgress("ready", reason=unfinished))
    _announce(vault, outcome)


async def _finish_interrupted(vault: Vault) -> str | None:
    """Finish changes that killed processes had begun, and sweep away the temporary files they left: before the first
    scan, so that it sees what that brings back, and whenever a change was finished. On failure returns the reason: the
    next sync retries, and the notes can be found meanwhile."""
    try:
        if await recovery.recover(vault) or vault.notes.progress.phase != "ready":
            await run_in(vault.shared.pool, vault.notes.tree.sweep)
    except (StorageFull, ReadOnly) as failure:
        return failure.message
    return None


def _announce(vault: Vault, outcome: ReconcileOutcome) -> None:
    if outcome.owed or outcome.paths:  # missing vectors, or data that background jobs derive from notes
        vault.start_background_work()
    if outcome.paths:
        vault.shared.on_notes_changed(vault.name, outcome.paths)


async def _sync_all(vault: Vault) -> ReconcileOutcome:
    def report(done: int, total: int) -> None:
        if vault.notes.progress.phase != "ready":  # nobody waits for a later full scan
            vault.notes.report(IndexProgress("scanning", done, total))

    report(0, 0)
    try:
        return await reconciliation.reconcile_all(vault, report)
    except NotesVanished as failure:
        await asyncio.sleep(AGAIN_S)
        return await reconciliation.reconcile_all(vault, report, expected=failure.missing)


async def read_incomplete(vault: Vault) -> None:
    """A background job: read links and tasks of long notes that tools changed, once edits pause: reading one takes as
    long as ten edits of it."""
    quiet = time.time_ns() - int(QUIET_S * 1e9)
    if paths := await vault.db.read(lambda tx: note_rows.find_incomplete(tx, quiet)):
        await reconciliation.read_whole(vault, paths)
    if await vault.db.read(note_rows.find_incomplete):
        vault.background.start_later(QUIET_S)


READ_INCOMPLETE = BackgroundJob(
    "read_incomplete_notes", lambda tx: bool(note_rows.find_incomplete(tx)), read_incomplete
)
