"""Looking at the whole graph: what stands out in it, and what is missing. Links of a note to itself never count, and
several links from one note to another count once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from vaults import clock
from vaults.context import run_in
from vaults.domain.graph import components, graph_answers, note_maturity
from vaults.domain.graph.graph_answers import Answer, Circle, GraphNode, Page, Sight
from vaults.domain.graph.note_maturity import Standing
from vaults.domain.graph.relatedness import offset, paged, within
from vaults.domain.paging import cursors
from vaults.graph import centrality
from vaults.graph.note_graph import NONE, Graph
from vaults.vault import Vault

Analysis: TypeAlias = Literal[
    "summary", "orphans", "dead_ends", "sources", "hubs", "stale", "immature", "emerging_hubs", "centrality", "cycles"
]

HUB = 5
"""Other notes a hub is linked with at least."""

GREW = 3
"""Notes that began to link to an emerging hub at least."""

STALE_DAYS, EMERGING_DAYS = 180, 30
IMMATURE = 0.4
"""How grown a note is below which it counts as immature."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What is looked at. ``days``: how long ago counts as stale, or how lately as emerging."""

    folder: str | None = None
    days: int | None = None


async def analyse(vault: Vault, analysis: Analysis, scope: Scope, page: Page) -> Answer:
    """One analysis, page by page. Raises ``InvalidArgument`` for a cursor of another list."""
    sight = await (_fresh(vault) if analysis in _SCORED else plain(vault))
    inside = frozenset(number for number, node in sight.graph.nodes.items() if within(node.path, scope.folder))
    if analysis == "summary":
        return await _summary(vault, sight, inside)
    if analysis == "cycles":
        return await _cycles(vault, sight, inside, page, scope)
    listing = f"{analysis} {scope.folder or ''} {scope.days or ''}"
    if analysis in _BY_SHAPE:
        nodes = await run_in(vault.shared.pool, _BY_SHAPE[analysis], sight, inside)
    else:
        nodes = await _BY_ROWS[analysis](vault, sight, inside, scope)
    return paged(nodes, listing, page)


_SCORED = ("summary", "hubs", "centrality")


async def _fresh(vault: Vault) -> Sight:
    """The graph, with scores that are of it: those of the last chore, or worked out now where it has changed since."""
    sight = await plain(vault)
    if await vault.db.read(centrality.owed):
        hubs = await run_in(vault.shared.pool, lambda: centrality.centrality(edges(sight.graph)))
        sight = Sight(sight.graph, hubs)
    return sight


async def plain(vault: Vault) -> Sight:
    """The graph, with scores as of the last chore."""
    return await vault.db.read(lambda tx: graph_answers.sight(tx, vault.atlas.at(tx)))


def edges(graph: Graph) -> list[tuple[int, int]]:
    """Notes that are linked, either way, each pair once."""
    return list({(min(a, b), max(a, b)) for a, several in graph.out.items() for b in several})


def is_orphan(graph: Graph, number: int) -> bool:
    """Nothing links to it."""
    return not graph.into.get(number)


def is_dead_end(graph: Graph, number: int) -> bool:
    """It is linked to and leads nowhere."""
    return bool(graph.into.get(number)) and not graph.out.get(number)


def is_source(graph: Graph, number: int) -> bool:
    """It links to others and nothing links to it."""
    return not graph.into.get(number) and bool(graph.out.get(number))


def _those(holds: Callable[[Graph, int], bool]) -> Callable[[Sight, frozenset[int]], list[GraphNode]]:
    def listed(sight: Sight, inside: frozenset[int]) -> list[GraphNode]:
        found = [number for number in inside if holds(sight.graph, number)]
        return [sight.node(number) for number in sorted(found, key=sight.path)]

    return listed


def degree(graph: Graph, number: int) -> int:
    """Other notes it is linked with, either way."""
    return len(graph.into.get(number, NONE) | graph.out.get(number, NONE))


def _hubs(sight: Sight, inside: frozenset[int]) -> list[GraphNode]:
    found = [(degree(sight.graph, number), number) for number in inside]
    mean = sum(many for many, _ in found) / max(1, len(found))
    least = max(HUB, 2 * mean)
    hubs = sorted(((-many, sight.path(number), number) for many, number in found if many >= least))
    return [
        replace(sight.node(number), score=float(-many), why=f"linked with {-many} notes") for many, _, number in hubs
    ]


def _central(sight: Sight, inside: frozenset[int]) -> list[GraphNode]:
    found = [(-hub, sight.path(number), number) for number, hub in sight.hubs.items() if number in inside and hub > 0]
    return [replace(sight.node(number), score=-hub) for hub, _, number in sorted(found)]


_BY_SHAPE: Mapping[str, Callable[[Sight, frozenset[int]], list[GraphNode]]] = {
    "orphans": _those(is_orphan),
    "dead_ends": _those(is_dead_end),
    "sources": _those(is_source),
    "hubs": _hubs,
    "centrality": _central,
}


async def _stale(vault: Vault, sight: Sight, inside: frozenset[int], scope: Scope) -> list[GraphNode]:
    before = clock.in_days(-float(scope.days or STALE_DAYS))
    rows = await vault.db.read(lambda tx: note_maturity.unchanged(tx, before))
    kept = [(number, at) for number, at in rows if number in inside and sight.graph.into.get(number)]
    nodes = [
        replace(sight.node(number), score=float(len(sight.graph.into[number])), why=f"last changed {at[:10]}")
        for number, at in kept
    ]
    return sorted(nodes, key=lambda node: (-(node.score or 0.0), node.why or "", node.path or ""))


async def _immature(vault: Vault, sight: Sight, inside: frozenset[int], _: Scope) -> list[GraphNode]:
    found = await vault.db.read(note_maturity.all_of)
    return await run_in(vault.shared.pool, _grown, sight, inside, found)


def _grown(sight: Sight, inside: frozenset[int], found: Mapping[int, Standing]) -> list[GraphNode]:
    nodes = []
    for number in inside & found.keys():
        parts = found[number].parts(len(sight.graph.out.get(number, NONE)), len(sight.graph.into.get(number, NONE)))
        grown = sum(parts.values()) / len(parts)
        if grown < IMMATURE:
            rounded = {name: round(value, 2) for name, value in parts.items()}
            nodes.append(replace(sight.node(number), score=round(grown, 2), parts=rounded))
    return sorted(nodes, key=lambda node: (node.score or 0.0, -(node.links_in or 0), node.path or ""))


async def _emerging(vault: Vault, sight: Sight, inside: frozenset[int], scope: Scope) -> list[GraphNode]:
    days = scope.days or EMERGING_DAYS
    since = clock.in_days(-float(days))
    gained = await vault.db.read(lambda tx: note_maturity.gained(tx, since))
    nodes = []
    for number, by in gained.items():
        fresh = by & {sight.path(each) for each in sight.graph.into.get(number, NONE)} if number in inside else set()
        if len(fresh) >= GREW:
            share = len(fresh) / len(sight.graph.into[number])
            why = f"{len(fresh)} of {len(sight.graph.into[number])} notes link to it since {since[:10]}"
            nodes.append(replace(sight.node(number), score=round(len(fresh) * share, 2), why=why))
    return sorted(nodes, key=lambda node: (-(node.score or 0.0), node.path or ""))


_BY_ROWS = {"stale": _stale, "immature": _immature, "emerging_hubs": _emerging}


async def _cycles(vault: Vault, sight: Sight, inside: frozenset[int], page: Page, scope: Scope) -> Answer:
    listing = f"cycles {scope.folder or ''}"
    start = offset(page.cursor, listing)
    groups = await run_in(vault.shared.pool, components.groups, sight.graph, inside)
    kept = groups[start : start + page.limit]
    circles = await run_in(vault.shared.pool, components.circles, sight.graph, kept)
    more = start + len(kept) < len(groups)
    cursor = cursors.written(listing, "", start + len(kept)) if more else None
    shown = [Circle(len(group), [sight.path(each) for each in way]) for group, way in zip(kept, circles, strict=True)]
    return Answer(total=len(groups), truncated=more, cursor=cursor, circles=shown)


async def _summary(vault: Vault, sight: Sight, inside: frozenset[int]) -> Answer:
    figures = await run_in(vault.shared.pool, _figures, sight, inside)
    counted = await vault.db.read(lambda tx: note_maturity.counts(tx, inside))
    top = sorted(inside, key=lambda number: (-sight.hubs.get(number, 0.0), sight.path(number)))[:5]
    nodes = [sight.node(number) for number in top if sight.hubs.get(number)]
    return Answer(nodes, total=len(inside), summary={**figures, **counted})


def _figures(sight: Sight, inside: frozenset[int]) -> dict[str, float]:
    graph = sight.graph
    out = sum(len(graph.out.get(number, NONE) & inside) for number in inside)
    counted = {name: sum(holds(graph, number) for number in inside) for name, holds in _SHAPES.items()}
    parts = components.parts(graph, inside)
    largest = max(map(len, parts), default=0)
    return {
        "notes": len(inside),
        "linked_pairs": out,
        "links_a_note": round(out / max(1, len(inside)), 2),
        **counted,
        "parts": len(parts),
        "largest_part": largest,
    }


_SHAPES: Mapping[str, Callable[[Graph, int], bool]] = {
    "orphans": is_orphan,
    "dead_ends": is_dead_end,
    "sources": is_source,
    "unlinked": lambda graph, number: not degree(graph, number),
}
