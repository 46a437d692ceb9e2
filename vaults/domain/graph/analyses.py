"""Analyses of the whole graph: what stands out, and what is missing. A note's links to itself never count, and several
links from one note to another count once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from vaults import clock
from vaults.context import run_in
from vaults.domain.graph import central_notes, components, graph_answers, note_maturity
from vaults.domain.graph.graph_answers import GraphAnswer, GraphCycle, GraphNode, GraphPageRequest, ScoredGraph
from vaults.domain.graph.note_maturity import NoteMaturity
from vaults.domain.graph.relatedness import is_within, parse_offset, to_page
from vaults.domain.paging import cursors
from vaults.graph import centrality
from vaults.graph.note_graph import NO_NOTES, Graph
from vaults.vault import Vault

Analysis: TypeAlias = Literal[
    "summary", "orphans", "dead_ends", "sources", "hubs", "stale", "immature", "emerging_hubs", "centrality", "cycles"
]

MIN_HUB_LINKS = 5
"""Min number of other notes a hub is linked with."""

MIN_NEW_LINKS = 3
"""Min number of notes that recently began to link to an emerging hub."""

STALE_DAYS, EMERGING_DAYS = 180, 30
IMMATURE = 0.4
"""Maturity, 0 to 1, below which a note counts as immature."""


@dataclass(frozen=True, slots=True)
class AnalysisScope:
    """What to analyse. ``days``: age from which a note is stale, or up to which links count as emerging."""

    folder: str | None = None
    days: int | None = None


async def analyse(vault: Vault, analysis: Analysis, scope: AnalysisScope, page: GraphPageRequest) -> GraphAnswer:
    """One analysis, page by page. Raises ``InvalidArgument`` for a cursor of another list."""
    listing = f"{analysis} {scope.folder or ''} {scope.days or ''}"
    if analysis == "centrality":
        return await _central(vault, scope.folder, listing, page)
    scored = await (_read_fresh_graph(vault) if analysis in _SCORED else read_graph(vault))
    inside = await run_in(vault.shared.pool, find_inside, scored.graph, scope.folder)
    if analysis == "summary":
        return await _summary(vault, scored, inside)
    if analysis == "cycles":
        return await _cycles(vault, scored, inside, page, scope)
    if analysis in _BY_SHAPE:
        found = await run_in(vault.shared.pool, _BY_SHAPE[analysis], scored, inside)
        return to_page(found, listing, page, lambda each: each.describe(scored))
    return to_page(await _BY_ROWS[analysis](vault, scored, inside, scope), listing, page, lambda node: node)


def find_inside(graph: Graph, folder: str | None) -> frozenset[int]:
    """The notes in a folder or below it; without a folder all."""
    if not folder:
        return frozenset(graph.nodes)
    return frozenset(number for number, node in graph.nodes.items() if is_within(node.path, folder))


async def _central(vault: Vault, folder: str | None, listing: str, page: GraphPageRequest) -> GraphAnswer:
    graph, ranking = await central_notes.read_central(vault)
    found: Sequence[int] = range(len(ranking.numbers))
    if folder:
        inside = await run_in(vault.shared.pool, find_inside, graph, folder)
        found = [at for at in found if ranking.numbers[at] in inside]
    return to_page(
        found, listing, page, lambda at: central_notes.to_central_node(graph, ranking.numbers[at], ranking.hubs[at])
    )


_SCORED = ("summary", "hubs")


async def _read_fresh_graph(vault: Vault) -> ScoredGraph:
    """The graph with current scores: those of the last background job, or computed now if it has changed since."""
    scored = await read_graph(vault)
    if await vault.db.read(centrality.is_due):
        edges = centrality.list_edges
        hubs = await run_in(vault.shared.pool, lambda: centrality.compute_centrality(edges(scored.graph)))
        scored = ScoredGraph(scored.graph, hubs)
    return scored


async def read_graph(vault: Vault) -> ScoredGraph:
    """The graph, with scores as of the last background job."""
    return await vault.db.read(lambda tx: graph_answers.read_scored_graph(tx, vault.graph_cache.at(tx)))


def is_orphan(graph: Graph, number: int) -> bool:
    """Whether no note links to it."""
    return not graph.into.get(number)


def is_dead_end(graph: Graph, number: int) -> bool:
    """Whether it is linked to but links to no other note."""
    return bool(graph.into.get(number)) and not graph.out.get(number)


def is_source(graph: Graph, number: int) -> bool:
    """Whether it links to others but no note links to it."""
    return not graph.into.get(number) and bool(graph.out.get(number))


@dataclass(frozen=True, slots=True)
class AnalysedNote:
    """A note that an analysis found: described only where its page is shown, since a vault has many."""

    number: int
    links: int | None = None  # how many notes a hub is linked with

    def describe(self, scored: ScoredGraph) -> GraphNode:
        """The note as an answer has it."""
        node = scored.node(self.number)
        if self.links is None:
            return node
        return replace(node, score=float(self.links), why=f"linked with {self.links} notes")


def _select_nodes(holds: Callable[[Graph, int], bool]) -> Callable[[ScoredGraph, frozenset[int]], list[AnalysedNote]]:
    def listed(scored: ScoredGraph, inside: frozenset[int]) -> list[AnalysedNote]:
        found = [number for number in inside if holds(scored.graph, number)]
        return [AnalysedNote(number) for number in sorted(found, key=scored.path)]

    return listed


def count_neighbours(graph: Graph, number: int) -> int:
    """How many other notes it is linked with, in either direction."""
    return len(graph.into.get(number, NO_NOTES) | graph.out.get(number, NO_NOTES))


def _hubs(scored: ScoredGraph, inside: frozenset[int]) -> list[AnalysedNote]:
    found = [(count_neighbours(scored.graph, number), number) for number in inside]
    mean = sum(many for many, _ in found) / max(1, len(found))
    least = max(MIN_HUB_LINKS, 2 * mean)
    hubs = sorted(((-many, scored.path(number), number) for many, number in found if many >= least))
    return [AnalysedNote(number, -many) for many, _, number in hubs]


_BY_SHAPE: Mapping[str, Callable[[ScoredGraph, frozenset[int]], list[AnalysedNote]]] = {
    "orphans": _select_nodes(is_orphan),
    "dead_ends": _select_nodes(is_dead_end),
    "sources": _select_nodes(is_source),
    "hubs": _hubs,
}


async def _stale(vault: Vault, scored: ScoredGraph, inside: frozenset[int], scope: AnalysisScope) -> list[GraphNode]:
    before = clock.days_from_now(-float(scope.days or STALE_DAYS))
    rows = await vault.db.read(lambda tx: note_maturity.read_unchanged(tx, before))
    kept = [(number, at) for number, at in rows if number in inside and scored.graph.into.get(number)]
    nodes = [
        replace(scored.node(number), score=float(len(scored.graph.into[number])), why=f"last changed {at[:10]}")
        for number, at in kept
    ]
    return sorted(nodes, key=lambda node: (-(node.score or 0.0), node.why or "", node.path or ""))


async def _immature(vault: Vault, scored: ScoredGraph, inside: frozenset[int], _: AnalysisScope) -> list[GraphNode]:
    found = await vault.db.read(note_maturity.read_all)
    return await run_in(vault.shared.pool, _select_grown, scored, inside, found)


def _select_grown(scored: ScoredGraph, inside: frozenset[int], found: Mapping[int, NoteMaturity]) -> list[GraphNode]:
    nodes = []
    for number in inside & found.keys():
        parts = found[number].parts(
            len(scored.graph.out.get(number, NO_NOTES)), len(scored.graph.into.get(number, NO_NOTES))
        )
        grown = sum(parts.values()) / len(parts)
        if grown < IMMATURE:
            rounded = {name: round(value, 2) for name, value in parts.items()}
            nodes.append(replace(scored.node(number), score=round(grown, 2), parts=rounded))
    return sorted(nodes, key=lambda node: (node.score or 0.0, -(node.links_in or 0), node.path or ""))


async def _emerging(vault: Vault, scored: ScoredGraph, inside: frozenset[int], scope: AnalysisScope) -> list[GraphNode]:
    days = scope.days or EMERGING_DAYS
    since = clock.days_from_now(-float(days))
    gained = await vault.db.read(lambda tx: note_maturity.read_gained_links(tx, since))
    nodes = []
    for number, by in gained.items():
        fresh = (
            by & {scored.path(each) for each in scored.graph.into.get(number, NO_NOTES)} if number in inside else set()
        )
        if len(fresh) >= MIN_NEW_LINKS:
            share = len(fresh) / len(scored.graph.into[number])
            why = f"{len(fresh)} of {len(scored.graph.into[number])} notes link to it since {since[:10]}"
            nodes.append(replace(scored.node(number), score=round(len(fresh) * share, 2), why=why))
    return sorted(nodes, key=lambda node: (-(node.score or 0.0), node.path or ""))


_BY_ROWS = {"stale": _stale, "immature": _immature, "emerging_hubs": _emerging}


async def _cycles(
    vault: Vault, scored: ScoredGraph, inside: frozenset[int], page: GraphPageRequest, scope: AnalysisScope
) -> GraphAnswer:
    listing = f"cycles {scope.folder or ''}"
    start = parse_offset(page.cursor, listing)
    groups = await run_in(vault.shared.pool, components.find_strong_components, scored.graph, inside)
    kept = groups[start : start + page.limit]
    circles = await run_in(vault.shared.pool, components.find_cycles, scored.graph, kept)
    more = start + len(kept) < len(groups)
    cursor = cursors.encode(listing, "", start + len(kept)) if more else None
    shown = [
        GraphCycle(len(group), [scored.path(each) for each in way]) for group, way in zip(kept, circles, strict=True)
    ]
    return GraphAnswer(total=len(groups), truncated=more, cursor=cursor, circles=shown)


async def _summary(vault: Vault, scored: ScoredGraph, inside: frozenset[int]) -> GraphAnswer:
    figures = await run_in(vault.shared.pool, _count_figures, scored, inside)
    counted = await vault.db.read(lambda tx: note_maturity.count_links(tx, inside))
    top = sorted(inside, key=lambda number: (-scored.hubs.get(number, 0.0), scored.path(number)))[:5]
    nodes = [scored.node(number) for number in top if scored.hubs.get(number)]
    return GraphAnswer(nodes, total=len(inside), summary={**figures, **counted})


def _count_figures(scored: ScoredGraph, inside: frozenset[int]) -> dict[str, float]:
    graph = scored.graph
    out = sum(len(graph.out.get(number, NO_NOTES) & inside) for number in inside)
    counted = {name: sum(holds(graph, number) for number in inside) for name, holds in _SHAPES.items()}
    parts = components.find_components(graph, inside)
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
    "unlinked": lambda graph, number: not count_neighbours(graph, number),
}
