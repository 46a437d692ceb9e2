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

    dots: list[str]
    arrows: list[list[str]]
    whole: bool


async def export_graph(vault: Vault, which: NoteReference | None, wanted: GraphExportRequest) -> GraphAnswer:
    """Export a document in one of ``FORMATS``. ``truncated``: something was cut; ``total``: the number of notes."""
    sight, numbers = await neighbourhoods.read_graph_and_notes(vault, *([which] if which is not None else []))
    chosen = await run_in(vault.shared.pool, _choose_notes, sight, numbers[0] if numbers else None, wanted)
    kept = chosen[: wanted.limit]
    times = await vault.db.read(lambda tx: link_queries.count_links_among(tx, kept))
    how = FORMATS[wanted.format]
    drawn = await run_in(vault.shared.pool, _write_parts, sight, kept, times, how)
    chunks = ["\n".join([dot, *arrows]) for dot, arrows in zip(drawn.dots, drawn.arrows, strict=True)]
    room = max(1, wanted.max_tokens - FRAME_TOKENS)
    fits = await token_budget.count_fitting(vault, chunks, room) if chunks else 0
    arrows = [arrow for several in drawn.arrows[:fits] for arrow in several]
    cut = fits < len(chosen) or not drawn.whole
    return GraphAnswer(
        total=len(chosen), truncated=cut, format=wanted.format, export=how.whole(drawn.dots[:fits], arrows)
    )


FRAME_TOKENS = 200
"""Max tokens of a document in addition to its parts."""


def _choose_notes(sight: ScoredGraph, start: int | None, wanted: GraphExportRequest) -> list[int]:
    if start is None:
        rings: Sequence[set[int]] = [
            {number for number, node in sight.graph.nodes.items() if is_within(node.path, wanted.folder)}
        ]
    else:
        rings = traversal.find_rings(sight.graph, start, wanted.depth, "both")
    return [
        number
        for ring in rings
        for number in sorted(ring, key=lambda each: (-sight.hubs.get(each, 0.0), sight.path(each)))
    ]


def _write_parts(
    sight: ScoredGraph, kept: Sequence[int], times: Mapping[tuple[int, int], int], how: ExportFormat
) -> ExportParts:
    place = {number: index for index, number in enumerate(kept, 1)}
    dots, arrows, left, whole = [], [], how.arrows, True
    for number, n in place.items():
        node = sight.graph.nodes[number]
        dots.append(how.dot(ExportNode(n, node.path, node.title, node.category, sight.hubs.get(number, 0.0))))
        links = _find_links_before(sight, place, number)
        whole = whole and len(links) <= left
        arrows.append([how.arrow(ExportEdge(place[a], place[b], times.get((a, b), 1))) for a, b in links[:left]])
        left -= len(arrows[-1])
    return ExportParts(dots, arrows, whole)


def _find_links_before(sight: ScoredGraph, place: Mapping[int, int], number: int) -> list[tuple[int, int]]:
    """Links between a note and those before it."""
    here, beyond = place[number], len(place) + 1
    out = ((number, other) for other in sight.graph.out.get(number, NO_NOTES) if place.get(other, beyond) < here)
    into = ((other, number) for other in sight.graph.into.get(number, NO_NOTES) if place.get(other, beyond) < here)
    return sorted([*out, *into], key=lambda pair: (place[pair[0]], place[pair[1]]))
