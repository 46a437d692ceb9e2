"""Finding stale notes: not changed for long although people rely on them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.graph.relatedness import is_within
from vaults.domain.text.plurals import pluralize
from vaults.graph import centrality, co_access_pairs
from vaults.graph.note_graph import NO_NOTES, Graph
from vaults.vault import Vault

RECENT_DAYS = 30
"""Days within which a change to a linked note counts as recent."""

STALE_SCALE_DAYS = 180.0
"""Days without a change after which staleness reaches two thirds of its maximum."""

MIN_SCORE = 0.5
"""Min score of a note that is reported."""

MAX_PAIRS = 20_000
"""Max co-access pairs examined, latest first."""

MANY_LINKS, OFTEN_RETRIEVED = 10, 2.0
"""Incoming links, and recent co-access weight, from which more adds nothing."""

WEIGHTS = {"linked": 0.35, "central": 0.3, "retrieved": 0.2, "moved_on": 0.15}
"""Weight of each sign that a note is relied on; they add up to 1."""


@dataclass(frozen=True, slots=True)
class StaleNote:
    """``score``: 0 to 100, how long it was not changed times how much it is relied on; ``because``: in words."""

    path: str
    title: str
    modified_at: str
    days: int
    score: float
    because: list[str]
    parts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StalenessScope:
    """Which notes to check. ``days``: min days without a change."""

    folder: str | None = None
    days: int = 90


@dataclass(frozen=True, slots=True)
class _StalenessFacts:
    graph: Graph
    hubs: Mapping[int, float]
    changed: Mapping[int, str]
    overdue: Mapping[int, int]
    met: Mapping[str, float]


async def find_stale_notes(vault: Vault, scope: StalenessScope, limit: int) -> tuple[list[StaleNote], int]:
    """The stalest notes, and the total number of stale ones."""
    facts = await vault.db.read(lambda tx: _read_facts(tx, vault))
    found = await run_in(vault.shared.pool, _rank_stale, facts, scope)
    return found[:limit], len(found)


def _read_facts(tx: Reader, vault: Vault) -> _StalenessFacts:
    now = clock.now()
    met: dict[str, float] = {}
    for two, weight in co_access_pairs.read_recent_pairs(tx, now, MAX_PAIRS).items():
        for path in two:
            met[path] = met.get(path, 0.0) + weight
    changed = {int(seq): str(at) for seq, at in tx.all("SELECT seq, modified_at FROM notes")}
    late = tx.all(
        "SELECT note, COUNT(*) FROM note_tasks WHERE status = ' ' AND due < :today GROUP BY note", {"today": now[:10]}
    )
    return _StalenessFacts(
        graph=vault.graph_cache.at(tx),
        hubs=centrality.read_scores(tx),
        changed=changed,
        overdue={int(note): int(many) for note, many in late},
        met=met,
    )


def _rank_stale(facts: _StalenessFacts, scope: StalenessScope) -> list[StaleNote]:
    now = datetime.fromisoformat(clock.now())
    ages = {number: (now - datetime.fromisoformat(at)).days for number, at in facts.changed.items()}
    found = []
    for number, node in facts.graph.nodes.items():
        if ages.get(number, 0) >= scope.days and is_within(node.path, scope.folder):
            stale = _judge_note(facts, number, ages)
            if stale is not None:
                found.append(stale)
    return sorted(found, key=lambda each: (-each.score, each.path))


def _judge_note(facts: _StalenessFacts, number: int, ages: Mapping[int, int]) -> StaleNote | None:
    graph, node, days = facts.graph, facts.graph.nodes[number], ages[number]
    into, hub = graph.into.get(number, NO_NOTES), facts.hubs.get(number, 0.0)
    neighbours = into | graph.out.get(number, NO_NOTES)
    recent = sum(ages.get(other, RECENT_DAYS) < RECENT_DAYS for other in neighbours)
    met, overdue = facts.met.get(node.path, 0.0), facts.overdue.get(number, 0)
    parts = {
        "linked": min(1.0, len(into) / MANY_LINKS),
        "central": hub / 100,
        "retrieved": min(1.0, met / OFTEN_RETRIEVED),
        "moved_on": recent / len(neighbours) if neighbours else 0.0,
    }
    relied = sum(WEIGHTS[name] * value for name, value in parts.items())
    score = 100 * (1 - math.exp(-days / STALE_SCALE_DAYS)) * relied
    if score < MIN_SCORE:
        return None
    because = [
        f"not changed for {pluralize(days, 'day')}",
        pluralize(len(into), "note links to it", "notes link to it") if into else "",
        f"central: hub {hub:g}" if hub >= 10 else "",
        "read or found with others lately" if met >= 0.1 else "",
        f"{recent} of {len(neighbours)} notes it is linked with changed in {RECENT_DAYS} days" if recent else "",
        pluralize(overdue, "task in it is overdue", "tasks in it are overdue") if overdue else "",
    ]
    rounded = {name: round(value, 2) for name, value in parts.items() if value}
    reasons = [each for each in because if each]
    return StaleNote(
        path=node.path,
        title=node.title,
        modified_at=facts.changed[number],
        days=days,
        score=round(score, 1),
        because=reasons,
        parts=rounded,
    )
