"""Finds and archives what a vault no longer needs: memories that repeat others, were never read, or expired.

A caller learns only of what it may see. Parts of a conversation are left alone: it is kept whole.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from vaults import clock
from vaults.activity_log.access_counts import read_access_counts
from vaults.context import run_in
from vaults.db.sql import Params, Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.memories import duplicate_groups, lifecycle
from vaults.domain.memories.duplicate_groups import ComparedMemory, RepeatedMemory
from vaults.durations import parse_duration
from vaults.report_cache import KeptReport
from vaults.vault import Vault

CleanupKind = Literal["duplicates", "never_read", "expired"]

MAX_IDS_NAMED = 20
"""Max ids listed per kind."""

MAX_COMPARED = 1_000
"""Newest memories that are compared pairwise."""

MAX_COMPARED_CHARACTERS = 4_000
"""Max characters of a memory that is compared by its words; a longer one counts as a duplicate only of an equal one."""

MAX_KEPT = 2_000
"""Max memories in groups that are kept for the next report, some 200 bytes each; more are looked for each time."""

MAX_ARCHIVED = 1_000
"""Max memories one call archives."""

BATCH_SIZE = 50


@dataclass(frozen=True, slots=True)
class MatchingMemories:
    """How many, and the ids of the first."""

    count: int
    ids: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DuplicateGroups:
    """``count`` memories repeat another one. Of each group the first id would stay. ``partial``: of a big vault only
    the newest were compared by their words."""

    count: int
    groups: list[list[str]] = field(default_factory=list)
    partial: bool = False


@dataclass(frozen=True, slots=True)
class CleanupFindings:
    """What could be archived, by kind."""

    duplicates: DuplicateGroups
    never_read: MatchingMemories
    expired: MatchingMemories


async def find_cleanup(vault: Vault, actor: Actor) -> CleanupFindings:
    """What the actor could archive. Takes some 100 ms, none of it on the event loop."""
    groups, partial = await _find_duplicate_groups(vault, actor)
    plain = {}
    for kind in ("never_read", "expired"):
        where, params = _condition(vault, actor, kind)
        plain[kind] = await vault.db.read(lambda tx, where=where, params=params: _find_matching(tx, where, params))  # type: ignore[misc]
    named = [[each.id for each in group[:MAX_IDS_NAMED]] for group in groups[:MAX_IDS_NAMED]]
    repeated = sum(len(group) - 1 for group in groups)
    return CleanupFindings(DuplicateGroups(repeated, named, partial), plain["never_read"], plain["expired"])


async def archive(vault: Vault, actor: Actor, kind: CleanupKind) -> list[str]:
    """Archive what ``find_cleanup`` reports of one kind, at most ``MAX_ARCHIVED``; returns their ids. The caller has
    checked that the actor may write."""
    reasons: list[tuple[int, str]] = []
    if kind == "duplicates":
        groups, _ = await _find_duplicate_groups(vault, actor)
        for group in groups:
            reasons += [(each.seq, f"duplicate of {group[0].id}") for each in group[1:]]
    else:
        where, params = _condition(vault, actor, kind)
        rows = await vault.db.read(
            lambda tx: tx.all(f"SELECT m.seq FROM memories m WHERE {where} LIMIT {MAX_ARCHIVED}", params)
        )
        reasons = [(int(seq), "never read" if kind == "never_read" else "expired") for (seq,) in rows]
    done: list[str] = []
    for start in range(0, min(len(reasons), MAX_ARCHIVED), BATCH_SIZE):
        some = reasons[start : start + BATCH_SIZE]
        done += await vault.db.write(lambda tx, some=some: _archive(tx, some))  # type: ignore[misc]
    return done


_MINE = "(m.visibility = 'shared' OR m.stored_by = :viewer)"
_KEPT = "m.archived_at IS NULL AND m.superseded_by IS NULL"
_ALIVE = f"{_KEPT} AND (m.expires_at IS NULL OR m.expires_at > :now)"


def _condition(vault: Vault, actor: Actor, kind: str) -> tuple[str, dict[str, Any]]:
    """The condition over alias ``m`` for memories of a kind, and its parameters."""
    params: dict[str, Any] = {"viewer": actor.identity, "now": clock.now()}
    if kind == "expired":
        return f"{_MINE} AND {_KEPT} AND m.expires_at <= :now", params
    params["before"] = clock.ago(parse_duration(vault.shared.hygiene.never_read))
    unread = "NOT EXISTS (SELECT 1 FROM memory_accesses a WHERE a.memory = m.seq)"
    if vault.access_counts:  # counted in memory, not yet stored
        unread += f" AND m.seq NOT IN ({', '.join(map(str, vault.access_counts))})"
    return f"{_MINE} AND {_ALIVE} AND m.parent IS NULL AND m.created_at < :before AND {unread}", params


def _find_matching(tx: Reader, where: str, params: Params) -> MatchingMemories:
    count = int(tx.value(f"SELECT COUNT(*) FROM memories m WHERE {where}", params))
    rows = (
        tx.all(f"SELECT m.id FROM memories m WHERE {where} ORDER BY m.seq LIMIT {MAX_IDS_NAMED}", params)
        if count
        else []
    )
    return MatchingMemories(count, [memory_id for (memory_id,) in rows])


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Memories to compare, at a version of the vault. ``until``: when the next memory expires."""

    compared: list[ComparedMemory]
    partial: bool
    version: int
    until: str | None


async def _find_duplicate_groups(vault: Vault, actor: Actor) -> tuple[list[list[RepeatedMemory]], bool]:
    """Groups of memories that say the same: first the one read most, or the oldest. What is the same is found once for
    each state of the vault; what was read most may change all the time."""
    model, near, now = vault.embedder.identity, vault.shared.search.near_duplicate, clock.now()
    params = {"viewer": actor.identity, "now": now, "model": model.key if model else ""}
    key = ("duplicates", actor.identity, params["model"], near)
    known = vault.reports.get(key)

    def read(tx: Reader) -> _Candidates | None:
        if known is not None and known.holds(tx.version(), now):
            return None
        return _read_candidates(tx, params, MAX_COMPARED)

    fresh = await vault.db.read(read)
    if fresh is not None:
        groups = await run_in(vault.shared.pool, duplicate_groups.group_duplicates, fresh.compared, near)
        known = KeptReport(fresh.version, now, fresh.until, (groups, fresh.partial))
        if sum(map(len, groups)) <= MAX_KEPT:
            vault.reports.keep(key, known)
    assert known is not None
    groups, partial = known.found
    repeated = [each.seq for group in groups for each in group]
    counts = await vault.db.read(lambda tx: read_access_counts(tx, repeated)) if repeated else {}
    return duplicate_groups.order_groups(groups, {seq: times for seq, (times, _) in counts.items()}), partial


def _read_candidates(tx: Reader, params: dict[str, Any], most: int) -> _Candidates:
    """Memories whose texts are equal, and the ``most`` newest."""
    newest = _candidates(tx, f"LENGTH(m.content) <= {MAX_COMPARED_CHARACTERS}", params, most + 1)
    equal = tx.all(
        "SELECT duplicate_key FROM memories WHERE duplicate_key IS NOT NULL"
        f" GROUP BY duplicate_key HAVING COUNT(*) > 1 LIMIT {MAX_ARCHIVED}"
    )
    equals: list[ComparedMemory] = []
    for (same,) in equal:
        equals += _candidates(tx, "m.duplicate_key = :same", {**params, "same": same}, BATCH_SIZE)
    taken = {each.seq for each in equals}
    compared = [*equals, *(each for each in newest[:most] if each.seq not in taken)]
    until = tx.value("SELECT MIN(expires_at) FROM memories WHERE expires_at > :now", params)
    return _Candidates(compared, len(newest) > most, tx.version(), until)


def _candidates(tx: Reader, where: str, params: dict[str, Any], limit: int) -> list[ComparedMemory]:
    rows = tx.all(
        "SELECT m.seq, m.id, m.title || char(10) || m.content, m.duplicate_key, m.workspace || ' ' || m.applies_to"
        " || ' ' || m.visibility || ' ' || CASE m.visibility WHEN 'shared' THEN '' ELSE m.stored_by END, e.vector"
        " FROM memories m LEFT JOIN passages p ON p.kind = 'memory' AND p.item = m.seq AND p.ordinal = 0"
        " LEFT JOIN embeddings e ON e.passage = p.seq AND e.model = :model"
        f" WHERE {_MINE} AND {_ALIVE} AND m.parent IS NULL AND {where} ORDER BY m.seq DESC LIMIT {limit}",
        params,
    )
    return [ComparedMemory(*row) for row in rows]


def _archive(tx: Writer, reasons: Sequence[tuple[int, str]]) -> list[str]:
    living: Collection[int] = {
        seq for seq, _ in reasons if tx.one(f"SELECT 1 FROM memories m WHERE m.seq = :seq AND {_KEPT}", {"seq": seq})
    }
    return [lifecycle.archive(tx, seq, reason) for seq, reason in reasons if seq in living]
