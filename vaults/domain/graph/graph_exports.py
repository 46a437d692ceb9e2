"""Exporting the graph, or the part around a note: the nearest and most central notes first, as many as fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vaults.context import run_in
from vaults.domain.graph import neighbourhoods
from vaults.domain.graph.export_formats import FORMATS, ExportEdge, ExportFormat, ExportNode
from vaults.domain.graph.graph_answers import GraphAnswer, ScoredGraph
from vaults.domain.graph.note_references import NoteReference
from vaults.domain.graph.relatedness import is_within
from vaults.domain.paging import token_budget
from vaults.graph import traversal
from vaults.graph.links import link_queries
from vaults.graph.note_graph import NO_NOTES
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class GraphExportRequest:
    """What to export: a folder, the vault, or the surroundings of a note."""

    format: str
    folder: str | None = None
    depth: int = 1  # steps around the note
    limit: int = 500  # max notes
    max_tokens: int = 10_000


@dataclass(frozen=True, slots=True)
class ExportParts:
    """Parts of a document, note by note, each with its links to and from those before it. ``whole``: no link was left
    out."""

    nodes: list[str]
    edges: list[list[str]]
    whole: bool


async def export_graph(vault: Vault, reference: NoteReference | None, request: GraphExportRequest) -> GraphAnswer:
    """Export a document in one of ``FORMATS``. ``truncated``: something was cut; ``total``: the number of notes."""
    scored, numbers = await neighbourhoods.read_graph_and_notes(vault, *([reference] if reference is not None else []))
    chosen = await run_in(vault.shared.pool, _choose_notes, scored, numbers[0] if numbers else None, request)
    kept = chosen[: request.limit]
    times = await vault.db.read(lambda tx: link_queries.count_links_among(tx, kept))
    export_format = FORMATS[request.format]
    drawn = await run_in(vault.shared.pool, _write_parts, scored, kept, times, export_format)
    chunks = ["\n".join([node, *edges]) for node, edges in zip(drawn.nodes, drawn.edges, strict=True)]
    room = max(1, request.max_tokens - FRAME_TOKENS)
    fits = await token_budget.count_fitting(vault, chunks, room) if chunks else 0
    edges = [edge for several in drawn.edges[:fits] for edge in several]
    cut = fits < len(chosen) or not drawn.whole
    return GraphAnswer(
        total=len(chosen), truncated=cut, format=request.format, export=export_format.whole(drawn.nodes[:fits], edges)
    )


FRAME_TOKENS = 200
"""Max tokens of a document in addition to its parts."""


def _choose_notes(scored: ScoredGraph, start: int | None, request: GraphExportRequest) -> list[int]:
    if start is None:
        rings: Sequence[set[int]] = [
            {number for number, node in scored.graph.nodes.items() if is_within(node.path, request.folder)}
        ]
    else:
        rings = traversal.find_rings(scored.graph, start, request.depth, "both")
    return [
        number
        for ring in rings
        for number in sorted(ring, key=lambda each: (-scored.hubs.get(each, 0.0), scored.path(each)))
    ]


def _write_parts(
    scored: ScoredGraph, kept: Sequence[int], times: Mapping[tuple[int, int], int], export_format: ExportFormat
) -> ExportParts:
    place = {number: index for index, number in enumerate(kept, 1)}
    nodes, edges, left, whole = [], [], export_format.max_edges, True
    for number, n in place.items():
        node = scored.graph.nodes[number]
        nodes.append(
            export_format.node(ExportNode(n, node.path, node.title, node.category, scored.hubs.get(number, 0.0)))
        )
        links = _find_links_before(scored, place, number)
        whole = whole and len(links) <= left
        edges.append(
            [export_format.edge(ExportEdge(place[a], place[b], times.get((a, b), 1))) for a, b in links[:left]]
        )
        left -= len(edges[-1])
    return ExportParts(nodes, edges, whole)


def _find_links_before(scored: ScoredGraph, place: Mapping[int, int], number: int) -> list[tuple[int, int]]:
    """Links between a note and those before it."""
    here, beyond = place[number], len(place) + 1
    out = ((number, other) for other in scored.graph.out.get(number, NO_NOTES) if place.get(other, beyond) < here)
    into = ((other, number) for other in scored.graph.into.get(number, NO_NOTES) if place.get(other, beyond) < here)
    return sorted([*out, *into], key=lambda pair: (place[pair[0]], place[pair[1]]))
