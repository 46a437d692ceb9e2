"""Statistics of a vault's links."""

from __future__ import annotations

from dataclasses import dataclass

from vaults.db.sql import Reader
from vaults.graph.link_feedback import link_trust
from vaults.graph.link_feedback.link_trust import Suppression
from vaults.graph.links import unresolved_names

MAX_STANDINGS = 5
"""Entities listed at each end of the ranking."""

MAX_SUPPRESSIONS = 10
"""Suppressions listed."""


@dataclass(frozen=True, slots=True)
class EntityStanding:
    """How far links to an entity are agreed with in the whole vault: ``mean`` of the posterior, and the observations it
    rests on."""

    entity: str
    mean: float
    observations: float


@dataclass(frozen=True, slots=True)
class LinkStats:
    """``links`` in all; ``resolved``: those that mean a note; ``broken``: those that mean none and look like one,
    ``ambiguous``: those that fit several. ``set_by_us``: links by how they came and what became of them, as
    ``auto.standing``. ``suppressed``: how many suppressions there are, of which ``suppressions`` are the newest."""

    notes: int
    links: int
    resolved: int
    broken: int
    ambiguous: int
    set_by_us: dict[str, int]
    best: list[EntityStanding]
    worst: list[EntityStanding]
    suppressed: int
    suppressions: list[Suppression]
    waiting: int


def read_link_stats(tx: Reader) -> LinkStats:
    """Compute the statistics."""
    links = int(tx.value("SELECT COUNT(*) FROM note_links"))
    resolved = int(tx.value("SELECT COUNT(*) FROM note_links WHERE meant IS NOT NULL"))
    lost, several = _count_unresolved(tx)
    fates = tx.all("SELECT source, state, COUNT(*) FROM link_applications GROUP BY source, state ORDER BY 1, 2")
    return LinkStats(
        notes=int(tx.value("SELECT COUNT(*) FROM notes")),
        links=links,
        resolved=resolved,
        broken=lost,
        ambiguous=several,
        set_by_us={f"{source}.{state}": int(count) for source, state, count in fates},
        best=_read_standings(tx, "mean > :start ORDER BY mean DESC"),
        worst=_read_standings(tx, "mean < :start ORDER BY mean"),
        suppressed=int(tx.value("SELECT COUNT(*) FROM link_suppressions")),
        suppressions=link_trust.read_suppressions(tx, limit=MAX_SUPPRESSIONS),
        waiting=int(tx.value("SELECT COUNT(*) FROM proactive_queue")),
    )


def _count_unresolved(tx: Reader) -> tuple[int, int]:
    """How many links mean no note, files that are not notes left out, and how many fit several."""
    rows = tx.all(
        "SELECT l.target, EXISTS (SELECT 1 FROM note_names k WHERE k.key = l.target_key), COUNT(*) FROM note_links l"
        " WHERE l.meant IS NULL AND l.target_key <> '' GROUP BY l.target, l.target_key"
    )
    several = sum(int(count) for _, known, count in rows if known)
    return sum(
        int(count) for target, known, count in rows if not known and not unresolved_names.is_file_name(target)
    ), several


def _read_standings(tx: Reader, which: str) -> list[EntityStanding]:
    rows = tx.all(
        f"SELECT entity, mean, weight FROM link_trust WHERE folder = '' AND weight > 0 AND {which}, entity LIMIT :most",
        {"start": link_trust.PRIOR_MEAN, "most": MAX_STANDINGS},
    )
    return [EntityStanding(entity, round(mean, 2), round(weight, 2)) for entity, mean, weight in rows]
