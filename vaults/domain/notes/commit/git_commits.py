"""Git commits of what tools changed, where the vault keeps a Git history. Made in the background, after the answer.

The journal records which changes no commit holds yet, so neither a kill nor an unwritable repository loses one: it
stays pending. The committer holds a lock between processes, for a change committed late would bring old text back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from vaults.context import run_in
from vaults.db.lease import Lease
from vaults.db.sql import Reader, Writer
from vaults.domain.notes.commit import journal
from vaults.domain.notes.commit.journal import ChangeRecord
from vaults.errors import InvalidArgument
from vaults.history.errors import HistoryUnavailable
from vaults.history.trees import is_keepable
from vaults.vault import BackgroundJob, Vault

BATCH_S = 60.0
"""Seconds within which changes by one author become one commit, in history mode ``batch``."""

RETRY_S = 60.0
"""Seconds until a failed write to the history is retried."""

PAGE = 200
"""Pending changes read at a time."""

LOCK = ".keeping"
LOCK_WAIT_S, LOCK_POLL_S = 5.0, 0.01


async def commit_pending(vault: Vault) -> None:
    """A background job: commit pending changes, oldest first. It runs again when a batch that is still open closes."""
    await _commit_pages(vault, now=datetime.now(UTC))


COMMIT_PENDING = BackgroundJob("commit_notes", journal.has_uncommitted, commit_pending)


async def commit_all_pending(vault: Vault) -> None:
    """Commit pending changes, open batches too, before the vault closes. Beyond one page they wait for the next run."""
    await _commit_pages(vault, now=None, pages=1)


async def ensure_committed(vault: Vault, seq: int) -> str | None:
    """Commit a change now with all that are pending before it; returns the commit. None where the vault keeps no Git
    history, or it cannot be written now: ``vault.history.status`` says which."""
    await _commit_pages(vault, now=None)
    return await vault.db.read(lambda tx: journal.find_commit(tx, seq)) or None


async def _commit_pages(vault: Vault, *, now: datetime | None, pages: int | None = None) -> None:
    """Commit pages of pending changes. ``now``: batches still open at that time wait; None: commit everything."""
    if vault.notes.settings.history == "off" or not await vault.db.read(lambda tx: journal.list_uncommitted(tx, 1)):
        return
    lock = Lease(vault.folder / LOCK)
    async with vault.history.turn:
        if not await _acquire_lock(lock):
            vault.background.start_later(RETRY_S)
            return
        try:
            while (pages is None or pages > 0) and await _commit_page(vault, now):
                pages = pages - 1 if pages is not None else None
            vault.history.problem = None
        except HistoryUnavailable as failure:
            vault.history.close()
            vault.history.problem = failure.reason
            vault.background.start_later(RETRY_S)
        finally:
            lock.release()


async def _acquire_lock(lease: Lease) -> bool:
    for _ in range(int(LOCK_WAIT_S / LOCK_POLL_S)):
        if lease.try_acquire():
            return True
        await asyncio.sleep(LOCK_POLL_S)
    return False


async def _commit_page(vault: Vault, now: datetime | None) -> bool:
    """Commit one page of pending changes; returns whether more can be committed at once."""
    pending = await vault.db.read(lambda tx: journal.list_uncommitted(tx, PAGE))
    mode = vault.notes.settings.history
    batches = group_batches(pending, mode)
    wait = _open_for(batches[-1], now) if batches and mode == "batch" and len(pending) < PAGE else 0.0
    if wait:
        batches.pop()
        vault.background.start_later(wait)
    for batch in batches:
        await _commit_batch(vault, batch)
    return len(pending) == PAGE


def group_batches(pending: Sequence[ChangeRecord], mode: str) -> list[list[ChangeRecord]]:
    """Group changes into commits: one each, or in mode ``batch`` consecutive ones by one author within ``BATCH_S`` of
    the first. Pure."""
    found: list[list[ChangeRecord]] = []
    for each in pending:
        last = found[-1] if found else None
        joins = mode == "batch" and last is not None and last[0].author == each.author
        if joins and last is not None and abs((_time_of(each) - _time_of(last[0])).total_seconds()) < BATCH_S:
            last.append(each)
        else:
            found.append([each])
    return found


def _open_for(batch: Sequence[ChangeRecord], now: datetime | None) -> float:
    """Seconds until a batch closes. A clock that was set back closes it at once."""
    age = (now - _time_of(batch[0])).total_seconds() if now is not None else BATCH_S
    return max(0.0, BATCH_S - age) if age >= 0 else 0.0


async def _commit_batch(vault: Vault, batch: Sequence[ChangeRecord]) -> None:
    files = await vault.db.read(lambda tx: _read_contents(tx, batch))
    commit = await _write_commit(vault, batch, files) if files else None
    await vault.db.write(lambda tx: _record_commit(tx, batch, commit))


async def _write_commit(vault: Vault, batch: Sequence[ChangeRecord], files: Mapping[str, bytes | None]) -> str | None:
    history, when = await run_in(vault.shared.pool, vault.history.open), int(_time_of(batch[-1]).timestamp())
    try:
        return await run_in(vault.shared.pool, history.commit, files, format_message(batch), batch[0].author, when)
    except InvalidArgument:
        return None  # a name is a note in one change and a folder in the next: Git has no such tree


def _record_commit(tx: Writer, batch: Sequence[ChangeRecord], commit: str | None) -> None:
    if commit is not None:
        journal.mark_committed(tx, [each.seq for each in batch], commit)
        return
    for each in batch:
        journal.waive_commit(tx, each.seq)


def _read_contents(tx: Reader, batch: Sequence[ChangeRecord]) -> dict[str, bytes | None]:
    """File contents after a series of changes; None: deleted. A version that is no longer kept is left out: a later one
    of the same note brings it."""
    files: dict[str, bytes | None] = {}
    for each in (each for record in batch for each in record.files):
        if each.to is not None and is_keepable(each.path):
            files[each.path] = None
        data = journal.read_version(tx, each.after)
        if is_keepable(each.target) and (data is not None or each.after is None):
            files[each.target] = data
    return files


def format_message(batch: Sequence[ChangeRecord]) -> str:
    """The commit message: the tool and what it did, and ids that lead back to the journal. Pure."""
    tools = list(dict.fromkeys(each.tool for each in batch))
    first = batch[0].summary if len(batch) == 1 else f"{len(batch)} changes"
    lines = [f"[strongroom:{'+'.join(tools)}] {' '.join(first.split())}", ""]
    if len(batch) > 1:
        lines += [*(f"- {' '.join(each.summary.split())}" for each in batch), ""]
    sessions = dict.fromkeys(each.session for each in batch if each.session)
    lines += [f"Session: {' '.join(each.split())}" for each in sessions]
    return "\n".join([*lines, *(f"Change: {each.id}" for each in batch)])


def _time_of(record: ChangeRecord) -> datetime:
    return datetime.fromisoformat(record.at)
