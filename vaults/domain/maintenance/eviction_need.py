"""What a vault has to give to keep its limits, what would go for it, and what the last run could not do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from vaults.db.sql import Reader
from vaults.domain.maintenance.eviction_candidates import USED, CandidateCursor, read_page
from vaults.domain.maintenance.eviction_plan import STAGES, EvictionCandidate, EvictionNeed, EvictionPlan, KindNeed
from vaults.domain.maintenance.retention import CLOCK_CHECK
from vaults.domain.text.fields import hash_parts
from vaults.settings import EvictableKind
from vaults.storage_limits import StorageLimits
from vaults.vault import Vault

LEAST_BYTES, MOST_BYTES = 1.0, 24.0
"""Bytes of the database for each character of text, with passages, index and vectors: bounds of what is believed."""

AGAIN_S = 600.0
"""Seconds until limits that could not be kept are tried again: what is pinned does not change by the minute."""

STATE = "evictions"
"""In ``vault_info``: what the last run could not do, and until when it is not tried again."""

INFO = "SELECT value FROM vault_info WHERE key = :key"
SET_INFO = (
    "INSERT INTO vault_info (key, value) VALUES (:key, :value) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)


@dataclass(frozen=True, slots=True)
class EvictionState:
    """What a run left: until when its limits are not tried again, and why they could not be kept."""

    limits: str
    until: str
    problem: str | None = None


def read_state(tx: Reader) -> EvictionState | None:
    """What the last run left, if there was one."""
    said = tx.value(INFO, {"key": STATE})
    return None if said is None else EvictionState(**json.loads(said))


def find_problem(tx: Reader, limits: StorageLimits) -> str | None:
    """Why the last run could not keep these limits."""
    state = read_state(tx)
    return state.problem if state is not None and state.limits == _fingerprint(limits) else None


def is_put_off(tx: Reader, limits: StorageLimits) -> bool:
    """Whether these very limits were tried lately."""
    state, now = read_state(tx), CLOCK_CHECK.ago(0)
    return state is not None and state.limits == _fingerprint(limits) and now < state.until <= CLOCK_CHECK.ago(-AGAIN_S)


async def record_state(vault: Vault, problem: str | None) -> None:
    """Write down that nothing more can go for now."""
    limits = vault.limits
    put_off = AGAIN_S if await vault.db.read(lambda tx: is_exceeded(tx, limits)) else 0.0
    state = {"limits": _fingerprint(limits), "until": CLOCK_CHECK.ago(-put_off), "problem": problem}
    await vault.db.write_uncounted(lambda tx: tx.run(SET_INFO, {"key": STATE, "value": json.dumps(state)}))


def _fingerprint(limits: StorageLimits) -> str:
    return hash_parts(repr(limits))


def is_exceeded(tx: Reader, limits: StorageLimits) -> bool:
    """Whether there is more than the limits allow, pinned or not."""
    if limits.max_size is not None and tx.size() > limits.max_size:
        return True
    need = read_need(tx, limits, MOST_BYTES)
    return not need.is_met or any(_has_older(tx, kind, each) for kind, each in need.kinds.items())


def _has_older(tx: Reader, kind: EvictableKind, need: KindNeed) -> bool:
    if need.before is None:
        return False
    if kind == "memory":
        statement = "SELECT 1 FROM memories m WHERE m.updated_at < :before AND :kind = 'memory' LIMIT 1"
    else:
        statement = f"SELECT 1 FROM documents d WHERE d.kind = :kind AND {USED} < :before LIMIT 1"
    return tx.one(statement, {"kind": kind, "before": need.before}) is not None


def read_need(tx: Reader, limits: StorageLimits, per_character: float) -> EvictionNeed:
    """What the vault has to give now."""
    size, over = tx.size(), 0
    if limits.max_size is not None and limits.target is not None and size > limits.max_size:
        over = max(1, round((size - limits.target) / per_character))
    kinds = {
        kind: KindNeed(_cutoff(each.retention), _over(tx, kind, each.max_size)) for kind, each in limits.kinds.items()
    }
    return EvictionNeed(over, limits.by_plan, kinds)


def _cutoff(retention: int | None) -> str | None:
    return None if retention is None else CLOCK_CHECK.ago(retention)


def _over(tx: Reader, kind: EvictableKind, limit: int | None) -> int:
    if limit is None:
        return 0
    if kind == "memory":
        return int(tx.value("SELECT SUM(LENGTH(content)) FROM memories") or 0) - limit
    return int(tx.value("SELECT SUM(size) FROM documents WHERE kind = :kind", {"kind": kind}) or 0) - limit


def estimate_bytes(tx: Reader) -> float:
    """Bytes of the database for each character of its texts. Those of notes are not counted, so that it is rather too
    much: then too little goes, and more after it was measured."""
    read_in = int(tx.value("SELECT SUM(size) FROM documents") or 0)
    told = int(tx.value("SELECT SUM(LENGTH(content)) FROM memories") or 0)
    return min(max(tx.size() / max(1, read_in + told), LEAST_BYTES), MOST_BYTES)


async def make_plan(vault: Vault, limits: StorageLimits, per_character: float | None = None) -> EvictionPlan:
    """What would go now, and what is pinned in its place. ``per_character``: bytes of the database, as measured. Reads
    page by page."""
    if per_character is None:
        per_character = await vault.db.read(estimate_bytes)
    plan = EvictionPlan(await vault.db.read(lambda tx: read_need(tx, limits, per_character)))
    for stage in STAGES:
        kinds = [kind for kind in stage if kind in limits.kinds]
        after: CandidateCursor | None = CandidateCursor()
        while after is not None and plan.need.wants(kinds, after.used):
            page, after = await vault.db.read(partial(_page, kinds, after))
            plan.add(page)
    return plan


def _page(
    kinds: Sequence[EvictableKind], after: CandidateCursor, tx: Reader
) -> tuple[list[EvictionCandidate], CandidateCursor | None]:
    return read_page(tx, kinds, after)


def describe_problem(plan: EvictionPlan, limits: StorageLimits) -> str | None:
    """Why the limits cannot be kept; None if they can."""
    if plan.need.is_met:
        return None
    kinds = [kind for kind, each in plan.need.kinds.items() if each.over > 0]
    what = "max_size" if plan.need.over > 0 else f"max_size of {', '.join(kinds)}"
    kept = f"{len(plan.pinned):,} pinned ones stay" if plan.pinned else "nothing of what is left may go"
    rest = "" if "memory" in limits.kinds else ", and memories go only where storage.memories says so"
    return f"{what} cannot be kept: {kept}{rest}"
