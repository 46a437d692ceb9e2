"""The graph, or the part around a note, as a document: the nearest and most central notes first, as many as fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vaults.context import run_in
from vaults.domain.graph import neighbourhoods
from vaults.domain.graph.export_formats import FORMATS, Arrow, Dot, Format
from vaults.domain.graph.graph_answers import Answer, Sight
from vaults.domain.graph.note_references import Which
from vaults.domain.graph.relatedness import within
from vaults.domain.paging import token_budget
from vaults.graph import traversal
from vaults.graph.links import link_queries
from vaults.graph.note_graph import NONE
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to export: all of a folder or the vault, or what lies around a note; ``limit`` notes at most."""

    format: str
    folder: str | None = None
    depth: int = 1
    limit: int = 500
    max_tokens: int = 10_000


@dataclass(frozen=True, slots=True)
class Drawn:
    """Parts of a document, note by note, each with the links between it and those before it. ``whole``: no link was
    left out."""

    dots: list[str]
    arrows: list[list[str]]
    whole: bool


async def export(vault: Vault, which: Which | None, wanted: Wanted) -> Answer:
    """A document in one of ``FORMATS``. What was cut is ``truncated``; ``total`` counts the notes there are."""
    sight, numbers = await neighbourhoods.seen(vault, *([which] if which is not None else []))
    chosen = await run_in(vault.shared.pool, _chosen, sight, numbers[0] if numbers else None, wanted)
    kept = chosen[: wanted.limit]
    times = await vault.db.read(lambda tx: link_queries.times(tx, kept))
    how = FORMATS[wanted.format]
    drawn = await run_in(vault.shared.pool, _drawn, sight, kept, times, how)
    chunks = ["\n".join([dot, *arrows]) for dot, arrows in zip(drawn.dots, drawn.arrows, strict=True)]
    room = max(1, wanted.max_tokens - FRAME)
    fits = await token_budget.fitting(vault, chunks, room) if chunks else 0
    arrows = [arrow for several in drawn.arrows[:fits] for arrow in several]
    cut = fits < len(chosen) or not drawn.whole
    return Answer(total=len(chosen), truncated=cut, format=wanted.format, export=how.whole(drawn.dots[:fits], arrows))


FRAME = 200
"""Tokens around the parts of a document at most."""


def _chosen(sight: Sight, start: int | None, wanted: Wanted) -> list[int]:
    if start is None:
        rings: Sequence[set[int]] = [
            {number for number, node in sight.graph.nodes.items() if within(node.path, wanted.folder)}
        ]
    else:
        rings = traversal.rings(sight.graph, start, wanted.depth, "both")
    return [
        number
        for ring in rings
        for number in sorted(ring, key=lambda each: (-sight.hubs.get(each, 0.0), sight.path(each)))
    ]


def _drawn(sight: Sight, kept: Sequence[int], times: Mapping[tuple[int, int], int], how: Format) -> Drawn:
    place = {number: index for index, number in enumerate(kept, 1)}
    dots, arrows, left, whole = [], [], how.arrows, True
    for number, n in place.items():
        node = sight.graph.nodes[number]
        dots.append(how.dot(Dot(n, node.path, node.title, node.category, sight.hubs.get(number, 0.0))))
        links = _before(sight, place, number)
        whole = whole and len(links) <= left
        arrows.append([how.arrow(Arrow(place[a], place[b], times.get((a, b), 1))) for a, b in links[:left]])
        left -= len(arrows[-1])
    return Drawn(dots, arrows, whole)


def _before(sight: Sight, place: Mapping[int, int], number: int) -> list[tuple[int, int]]:
    """Links between a note and those before it."""
    here, beyond = place[number], len(place) + 1
    out = ((number, other) for other in sight.graph.out.get(number, NONE) if place.get(other, beyond) < here)
    into = ((other, number) for other in sight.graph.into.get(number, NONE) if place.get(other, beyond) < here)
    return sorted([*out, *into], key=lambda pair: (place[pair[0]], place[pair[1]]))
