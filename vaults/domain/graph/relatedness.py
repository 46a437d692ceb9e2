"""How strongly notes belong together, and which of them belong together without a link.

The strength of two notes is the sum of its parts, each of which can be looked at:

- ``forward`` and ``back``: for a link one way, ``1 + ln(1 + changes of its note it outlived)``
- ``shared``: neighbours both have, each ``1 / ln`` of how many neighbours it has (Adamic and Adar)
- ``read`` and ``found``: ``ln(1 + w)`` of how much they were opened, and found, together, halved in seven days
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.graph import graph_answers, link_lines, link_weights
from vaults.domain.graph.graph_answers import Answer, Gap, GraphLink, GraphNode, Page, Sight
from vaults.domain.graph.neighbourhoods import ranked, rounded, seen, total
from vaults.domain.graph.note_references import Which
from vaults.domain.notes.index.extraction import folder_of
from vaults.domain.paging import cursors
from vaults.errors import InvalidArgument
from vaults.graph import co_access_pairs, shared_neighbours
from vaults.graph.links import link_queries
from vaults.graph.note_graph import NONE, Graph
from vaults.graph.traversal import beside
from vaults.vault import Vault

BOTH = 10
"""Links each way that are shown of two notes."""

LOOKED_AT = 5_000
"""Pairs that were found or read together last which are looked at for gaps, and pairs that share neighbours."""

Parts = dict[str, float]


@dataclass(frozen=True, slots=True)
class _Known:
    """What the rows say of one note and all others: by number how many changes links outlived, by path how much they
    were used together."""

    survived: Mapping[int, int]
    used: Mapping[str, Mapping[str, float]]


def _known(tx: Reader, note: int, path: str) -> _Known:
    return _Known(link_queries.survived(tx, note), co_access_pairs.of(tx, path, clock.now()))


def _parts(sight: Sight, one: int, other: int, known: _Known, shared: float) -> Parts:
    outlived = 1.0 + math.log1p(max(0, known.survived.get(other, 0)))
    path = sight.path(other)
    return {
        "forward": outlived if other in sight.graph.out.get(one, NONE) else 0.0,
        "back": outlived if one in sight.graph.out.get(other, NONE) else 0.0,
        "shared": shared,
        "read": math.log1p(known.used["read"].get(path, 0.0)),
        "found": math.log1p(known.used["found"].get(path, 0.0)),
    }


async def strength(vault: Vault, ends: tuple[Which, Which]) -> Answer:
    """How strongly two notes belong together, part by part, the links between them, and the neighbours they share.
    Raises ``InvalidArgument`` for a note and itself."""
    sight, (one, other) = await seen(vault, *ends)
    if one == other:
        raise InvalidArgument("to", "must be another note")
    shared = shared_neighbours.shared(sight.graph, one, other)

    def read(tx: Reader) -> tuple[_Known, list[GraphLink]]:
        links = link_queries.between(tx, ((one, other), (other, one)), BOTH)
        return _known(tx, one, sight.path(one)), link_weights.shown(tx, links, clock.now())

    known, links = await vault.db.read(read)
    parts = _parts(sight, one, other, known, sum(shared.values()))
    between = [replace(sight.node(each), score=round(worth, 2), why="shared") for each, worth in shared.items()]
    between.sort(key=lambda node: (-(node.score or 0.0), node.path or ""))
    nodes = [sight.node(one), sight.node(other), *between[: BOTH * 2]]
    shown = await link_lines.with_lines(vault, links)
    return Answer(nodes, shown, len(shared), len(between) > BOTH * 2, score=total(parts), parts=rounded(parts))


async def strong_connections(vault: Vault, which: Which, page: Page) -> Answer:
    """The notes that belong to one most strongly, by links, shared neighbours and use."""
    sight, (start,) = await seen(vault, which)
    known = await vault.db.read(lambda tx: _known(tx, start, sight.path(start)))
    nodes = await run_in(vault.shared.pool, _strongest, sight, start, known)
    return paged(nodes, f"strong {start}", page)


def _strongest(sight: Sight, start: int, known: _Known) -> list[GraphNode]:
    shared = shared_neighbours.near(sight.graph, start)
    others = set(shared) | beside(sight.graph, start) | set(_numbers(sight.graph, _used(known)))
    others.discard(start)
    return ranked(sight, {each: _parts(sight, start, each, known, shared.get(each, 0.0)) for each in others})


def _used(known: _Known) -> set[str]:
    return {path for how in known.used.values() for path in how}


def _numbers(graph: Graph, paths: set[str]) -> list[int]:
    return [number for number, node in graph.nodes.items() if node.path in paths] if paths else []


def paged(nodes: list[GraphNode], listing: str, page: Page) -> Answer:
    """One page of a ranked list."""
    start = offset(page.cursor, listing)
    kept = nodes[start : start + page.limit]
    more = start + len(kept) < len(nodes)
    cursor = cursors.written(listing, "", start + len(kept)) if more else None
    return Answer(kept, total=len(nodes), truncated=more, cursor=cursor)


def offset(cursor: str | None, listing: str) -> int:
    """Where a page begins. Raises ``InvalidArgument`` for a cursor of another list."""
    return max(0, cursors.read(cursor, listing)[1]) if cursor is not None else 0


async def gaps(vault: Vault, which: Which | None, folder: str | None, page: Page) -> Answer:
    """Notes that share neighbours or are used together and do not link each other, strongest first: of one note with
    all others, or all pairs in a folder or the vault."""
    listing = f"gaps {which.said if which else ''}\n{folder or ''}"
    start = offset(page.cursor, listing)
    if which is not None:
        found = await _gaps_of(vault, which, folder)
    else:
        found = await _gaps_within(vault, folder)
    kept = found[start : start + page.limit]
    more = start + len(kept) < len(found)
    cursor = cursors.written(listing, "", start + len(kept)) if more else None
    return Answer(total=len(found), truncated=more, cursor=cursor, gaps=kept)


async def _gaps_of(vault: Vault, which: Which, folder: str | None) -> list[Gap]:
    sight, (start,) = await seen(vault, which)
    known = await vault.db.read(lambda tx: _known(tx, start, sight.path(start)))
    nodes = await run_in(vault.shared.pool, _strongest, sight, start, known)
    linked = {sight.path(each) for each in beside(sight.graph, start)}
    return [
        Gap(sight.path(start), node.path or "", node.score or 0.0, node.parts or {})
        for node in nodes
        if node.path not in linked and within(node.path or "", folder)
    ]


async def _gaps_within(vault: Vault, folder: str | None) -> list[Gap]:
    def read(tx: Reader) -> tuple[Sight, dict[tuple[str, str], float]]:
        return graph_answers.sight(tx, vault.atlas.at(tx)), co_access_pairs.all_of(tx, clock.now(), LOOKED_AT)

    sight, used = await vault.db.read(read)
    return await run_in(vault.shared.pool, _all_gaps, sight, used, folder)


def _all_gaps(sight: Sight, used: Mapping[tuple[str, str], float], folder: str | None) -> list[Gap]:
    graph = sight.graph
    inside = {number for number, node in graph.nodes.items() if within(node.path, folder)}
    numbers = {graph.nodes[number].path: number for number in inside}
    found: dict[tuple[str, str], Parts] = defaultdict(dict)
    for one, other, shared in shared_neighbours.nearest(graph, inside, LOOKED_AT):
        found[_ordered(sight.path(one), sight.path(other))]["shared"] = shared
    for (one_path, other_path), weight in used.items():
        ends = numbers.get(one_path), numbers.get(other_path)
        if ends[0] is not None and ends[1] is not None and ends[1] not in beside(graph, ends[0]):
            found[_ordered(one_path, other_path)]["used"] = math.log1p(weight)
    return _by_score(Gap(*pair, total(parts), rounded(parts)) for pair, parts in found.items())


def _ordered(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def _by_score(found: Iterable[Gap]) -> list[Gap]:
    return sorted((gap for gap in found if gap.score > 0), key=lambda gap: (-gap.score, gap.one, gap.other))


def within(path: str, folder: str | None) -> bool:
    """Whether a note lies in a folder or below it; without one, anywhere."""
    return not folder or f"{folder_of(path)}/".startswith(f"{folder.strip('/')}/")
