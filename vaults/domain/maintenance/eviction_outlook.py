"""What the limits of a vault mean for what it holds: what goes next, and when."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from vaults import clock
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.maintenance import eviction_log, eviction_need
from vaults.domain.maintenance.eviction_candidates import CandidateCursor, read_page
from vaults.domain.maintenance.eviction_plan import PlannedEviction
from vaults.durations import format_duration
from vaults.storage_limits import KindLimit, StorageLimits
from vaults.vault import Vault

GONE_DAYS = 30


@dataclass(frozen=True, slots=True)
class EvictionOutlook:
    """What limits of storage do to the items the caller may see. ``max_size`` in bytes; ``retention`` and ``going``,
    what goes with the next run, by kind; ``next_at``: when the next one is too old; ``gone``: in the last 30 days."""

    max_size: int | None = None
    retention: dict[str, str] = field(default_factory=dict)
    going: dict[str, int] = field(default_factory=dict)
    next_at: str | None = None
    gone: int = 0
    problem: str | None = None


async def read_outlook(vault: Vault, actor: Actor | None) -> EvictionOutlook | None:
    """The outlook as of now; None where there is no limit and nothing went. ``actor`` None: the operator at the
    machine. Others are told what goes by age alone: how full a vault is would tell of what others keep privately."""
    limits, viewer = vault.limits, None if actor is None else actor.identity
    gone = await vault.db.read(lambda tx: eviction_log.count_since(tx, viewer, clock.ago(GONE_DAYS * 86_400)))
    if not limits.are_set:
        return EvictionOutlook(gone=gone) if gone else None
    plan = await eviction_need.make_plan(vault, limits if actor is None else _by_age(limits))
    return EvictionOutlook(
        max_size=limits.max_size,
        retention={kind: format_duration(each.retention) for kind, each in limits.kinds.items() if each.retention},
        going=_count(plan.goes, viewer),
        next_at=await vault.db.read(lambda tx: _find_next(tx, limits, viewer)),
        gone=gone,
        problem=eviction_need.describe_problem(plan, limits) if actor is None else None,
    )


def _by_age(limits: StorageLimits) -> StorageLimits:
    return StorageLimits(None, False, {kind: KindLimit(None, each.retention) for kind, each in limits.kinds.items()})


def _count(goes: list[PlannedEviction], viewer: str | None) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in (each.candidate for each in goes):
        if viewer is None or one.owner in (None, viewer):
            found[one.kind] = found.get(one.kind, 0) + 1
    return found


def _find_next(tx: Reader, limits: StorageLimits, viewer: str | None) -> str | None:
    """When the next item reaches its age, of the least recently used ones."""
    times = []
    for kind, each in limits.kinds.items():
        if each.retention is not None:
            page, _ = read_page(tx, [kind], CandidateCursor())
            seen = (one for one in page if one.pin is None and (viewer is None or one.owner in (None, viewer)))
            times += [_later(max(one.used, one.stored), each.retention) for one in seen]
    return min(times, default=None)


def _later(moment: str, seconds: int) -> str:
    return clock.to_text(datetime.fromisoformat(moment) + timedelta(seconds=seconds))
