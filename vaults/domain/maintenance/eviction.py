"""Lets the least recently used go where a vault holds more, or for longer, than its limits allow.

A background job of the process that holds the vault's lease; ``strongroom evict`` runs it at once. What goes is written
down first, with a copy: a run that is killed is finished by the next, and the last run can be taken back while its
copies are kept. Nothing goes unless a limit was set.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial

from vaults.db import free_pages
from vaults.db.sql import Reader
from vaults.domain.maintenance import eviction_log, eviction_need
from vaults.domain.maintenance.eviction_need import INFO
from vaults.domain.maintenance.eviction_run import MERGED_PAGES, TIDY, EvictionRun, merge_words
from vaults.vault import BackgroundJob, Vault

SPAN_S = 10.0
"""Max seconds of one run in the background; the rest is left to the next."""

ROUNDS = 8
"""Times that more is let go in one run because the database did not shrink as was expected."""


@dataclass(slots=True)
class EvictionReport:
    """What a run did: items by kind, bytes the vault took before and takes now, bytes the disk got back. ``problem``:
    why the limits could not be kept; ``is_whole`` false: there was no time for all."""

    before: int = 0
    after: int = 0
    returned: int = 0
    went: Counter[str] = field(default_factory=Counter)
    problem: str | None = None
    is_whole: bool = True


def make_job(vault: Vault) -> BackgroundJob:
    """The job of a vault, which knows the limits of this one."""
    return BackgroundJob("evict", partial(is_eviction_due, vault), run_in_background)


def is_eviction_due(vault: Vault, tx: Reader) -> bool:
    """Whether a run was interrupted, or there may be more than the limits allow. A few look-ups in indexes."""
    if eviction_log.find_unfinished(tx) is not None or is_tidying_due(tx):
        return True
    limits = vault.limits
    return limits.are_set and not eviction_need.is_put_off(tx, limits) and eviction_need.is_exceeded(tx, limits)


def is_above_size(vault: Vault, tx: Reader) -> bool:
    """Whether the vault is larger than it may be."""
    limit = vault.limits.max_size
    return limit is not None and tx.size() > limit


def is_tidying_due(tx: Reader) -> bool:
    """Whether room was made that the disk has not got back yet."""
    return tx.one(INFO, {"key": TIDY}) is not None


async def run_in_background(vault: Vault) -> EvictionReport:
    """``evict``, for so long that other work of the vault gets its turn."""
    return await evict(vault, span_s=SPAN_S)


async def evict(vault: Vault, span_s: float | None = None) -> EvictionReport:
    """Finish what was begun, let go what the limits demand, and give the room back. Raises ``StorageFull`` where there
    is not even room to delete."""
    await vault.disk.make_room()
    await vault.write_accesses()
    report = EvictionReport(before=await vault.db.read(lambda tx: tx.size()))
    run = EvictionRun(vault, None if span_s is None else time.monotonic() + span_s)
    report.is_whole = await run.finish_begun() and await _keep_limits(run, report)
    if report.is_whole and await vault.db.read(is_tidying_due):
        report.returned = await tidy(vault)
    report.after = await vault.db.read(lambda tx: tx.size())
    if report.is_whole and vault.limits.are_set:
        await eviction_need.record_state(vault, report.problem)
    for kind, count in report.went.items():
        vault.shared.observer.on_evicted(kind, count)
    return report


async def _keep_limits(run: EvictionRun, report: EvictionReport) -> bool:
    """Let things go until the limits are kept or nothing is left to go; returns whether there was time. What the
    database shrinks by for each character shows only afterwards: a round that was too small is followed by another."""
    vault, limits = run.vault, run.vault.limits
    per_character: float | None = None
    for _ in range(ROUNDS if limits.are_set else 0):
        before = await vault.db.read(lambda tx: tx.size())
        if limits.max_size is not None and before > limits.max_size:
            await run.drop_earlier_copies()
        plan = await eviction_need.make_plan(vault, limits, per_character)
        report.problem = eviction_need.describe_problem(plan, limits)
        if not plan.goes:
            return True
        done = await run.let_go(plan.goes)
        report.went.update(each.candidate.kind for each in plan.goes[:done])
        if done < len(plan.goes):
            return False
        await merge_words(vault, -MERGED_PAGES)
        freed = before - await vault.db.read(lambda tx: tx.size())
        per_character = min(max(freed / max(1, plan.size), eviction_need.LEAST_BYTES), eviction_need.MOST_BYTES)
    return True


async def tidy(vault: Vault) -> int:
    """Take what is left of removed items out of text index and vectors, and give the room back; returns how many bytes
    the disk got."""
    mark = await vault.db.read(lambda tx: tx.value(INFO, {"key": TIDY}))
    await merge_words(vault, -MERGED_PAGES)
    await vault.erase_removed_vectors()
    returned = await free_pages.give_back(vault.db)
    # What was let go in the meantime left a new mark, which stays: the job runs again.
    done = "DELETE FROM vault_info WHERE key = :key AND value = :mark"
    await vault.db.write_uncounted(lambda tx: tx.run(done, {"key": TIDY, "mark": mark}))
    return returned
