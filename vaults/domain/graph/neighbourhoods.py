"""The neighbourhood of a note, and the path from one note to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.graph import graph_answers, link_lines, link_weights, note_references
from vaults.domain.graph.graph_answers import GraphAnswer, GraphLink, GraphNode, ScoredGraph
from vaults.domain.graph.note_references import NoteReference
from vaults.graph import traversal
from vaults.graph.links import link_queries
from vaults.graph.note_graph import Graph
from vaults.graph.traversal import Direction
from vaults.vault import Vault

MAX_LINKS_PER_NOTE = 4
"""Max links between neighbours that are shown, for each note of the limit."""


@dataclass(frozen=True, slots=True)
class NeighbourOptions:
    """Which notes around one to return."""

    depth: int = 1
    direction: Direction = "both"
    limit: int = 50


async def read_graph_and_notes(vault: Vault, *several: NoteReference) -> tuple[ScoredGraph, list[int]]:
    """The graph, and the numbers of notes that must exist. Raises ``NotFound`` and ``Conflict``."""
    wanted = [await note_references.resolve_dated_path(vault, each) for each in several]

    def read(tx: Reader) -> tuple[ScoredGraph, list[int]]:
        numbers = [note_references.find_note(tx, each) for each in wanted]
        return graph_answers.read_scored_graph(tx, vault.graph_cache.at(tx)), numbers

    return await vault.db.read(read)


async def find_neighbors(vault: Vault, reference: NoteReference, options: NeighbourOptions) -> GraphAnswer:
    """The notes within some steps of one, nearest and most central first, and the links between them."""
    scored, (start,) = await read_graph_and_notes(vault, reference)
    places = await run_in(vault.shared.pool, _rank_by_distance, scored, start, options)
    kept = places[: options.limit + 1]
    numbers = [number for number, _ in kept]

    def read(tx: Reader) -> list[GraphLink]:
        return link_weights.to_graph_links(
            tx, link_queries.read_links_among(tx, numbers, MAX_LINKS_PER_NOTE * options.limit), clock.now()
        )

    links = await vault.db.read(read)
    nodes = [replace(scored.node(number), depth=depth) for number, depth in kept]
    return GraphAnswer(nodes, links, len(places) - 1, len(kept) < len(places))


def _rank_by_distance(scored: ScoredGraph, start: int, options: NeighbourOptions) -> list[tuple[int, int]]:
    """Notes with their distance, starting with the note itself."""
    rings = traversal.find_rings(scored.graph, start, options.depth, options.direction)
    return [
        (number, depth)
        for depth, ring in enumerate(rings)
        for number in sorted(ring, key=lambda each: (-scored.hubs.get(each, 0.0), scored.path(each)))
    ]


async def trace_path(
    vault: Vault, ends: tuple[NoteReference, NoteReference], depth: int, direction: Direction
) -> GraphAnswer:
    """The shortest path from one note to another, and its links. If there is none, ``note`` in the answer says so."""
    scored, (start, end) = await read_graph_and_notes(vault, *ends)
    way = await run_in(vault.shared.pool, traversal.find_shortest_path, scored.graph, start, end, depth, direction)
    if way is None:
        along = {"out": "along links", "in": "against links", "both": "by links either way"}[direction]
        more = "" if direction == "both" else "; direction both takes links either way"
        note = f"no path from {scored.path(start)} to {scored.path(end)} in {depth} steps {along}{more}"
        return GraphAnswer([scored.node(start), scored.node(end)], total=0, note=note)
    pairs = [_order_by_link(scored.graph, one, other) for one, other in pairwise(way)]
    links = await vault.db.read(
        lambda tx: link_weights.to_graph_links(tx, link_queries.read_links_between(tx, pairs), clock.now())
    )
    nodes = [replace(scored.node(number), depth=step) for step, number in enumerate(way)]
    return GraphAnswer(nodes, await link_lines.add_lines(vault, links), len(pairs))


def _order_by_link(graph: Graph, one: int, other: int) -> tuple[int, int]:
    """The pair with the linking note first."""
    return (one, other) if other in graph.out.get(one, frozenset()) else (other, one)


def rank_nodes(scored: ScoredGraph, found: Mapping[int, Mapping[str, float]]) -> list[GraphNode]:
    """Notes ranked by the sum of their score parts."""
    nodes = [
        replace(scored.node(number), score=sum_parts(parts), parts=round_parts(parts))
        for number, parts in found.items()
    ]
    return sorted(nodes, key=lambda node: (-(node.score or 0.0), node.path or ""))


def sum_parts(parts: Mapping[str, float]) -> float:
    """The sum of the rounded parts, so that it matches what is shown."""
    return round(sum(round_parts(parts).values()), 2)


def round_parts(parts: Mapping[str, float]) -> dict[str, float]:
    """Parts rounded for display, without those that are zero."""
    return {name: round(value, 2) for name, value in parts.items() if value}
