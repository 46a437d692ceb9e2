"""How strongly notes are related, and which related notes do not link each other.

The strength of a pair is the sum of parts, each of which is reported:

- ``forward`` and ``back``: for a link in that direction, ``1 + ln(1 + edits of its note it survived)``
- ``shared``: for each shared neighbour, ``1 / ln`` of its number of neighbours (Adamic-Adar)
- ``read`` and ``found``: ``ln(1 + w)`` of how much they were opened, and found, together; half-life seven days
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.graph import graph_answers, link_lines, link_weights
from vaults.domain.graph.graph_answers import GraphAnswer, GraphLink, GraphNode, GraphPageRequest, LinkGap, ScoredGraph
from vaults.domain.graph.neighbourhoods import rank_nodes, read_graph_and_notes, round_parts, sum_parts
from vaults.domain.graph.note_references import NoteReference
from vaults.domain.paging import cursors
from vaults.errors import InvalidArgument
from vaults.files.paths import parent_folder
from vaults.graph import co_access_pairs, shared_neighbours
from vaults.graph.links import link_queries
from vaults.graph.note_graph import NO_NOTES, Graph
from vaults.graph.traversal import find_neighbours
from vaults.vault import Vault

MAX_LINKS_EACH_WAY = 10
"""Max links shown in each direction between two notes."""

MAX_PAIRS = 5_000
"""Max pairs examined for gaps: of those most recently found or read together, and of those that share neighbours."""

ScoreParts = dict[str, float]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _NoteRows:
    """What the database knows of one note and all others. ``survived``: by number, how many edits the links survived;
    ``used``: by kind and path, how much they were used together."""

    survived: Mapping[int, int]
    used: Mapping[str, Mapping[str, float]]


def _read_rows(tx: Reader, note: int, path: str) -> _NoteRows:
    return _NoteRows(link_queries.read_survival(tx, note), co_access_pairs.read_weights_by_kind(tx, path, clock.now()))


def _score_parts(scored: ScoredGraph, one: int, other: int, known: _NoteRows, shared: float) -> ScoreParts:
    outlived = 1.0 + math.log1p(max(0, known.survived.get(other, 0)))
    path = scored.path(other)
    return {
        "forward": outlived if other in scored.graph.out.get(one, NO_NOTES) else 0.0,
        "back": outlived if one in scored.graph.out.get(other, NO_NOTES) else 0.0,
        "shared": shared,
        "read": math.log1p(known.used["read"].get(path, 0.0)),
        "found": math.log1p(known.used["found"].get(path, 0.0)),
    }


async def measure_strength(vault: Vault, ends: tuple[NoteReference, NoteReference]) -> GraphAnswer:
    """How strongly two notes are related, part by part, with the links between them and the neighbours they share.
    Raises ``InvalidArgument`` if both are the same note."""
    scored, (one, other) = await read_graph_and_notes(vault, *ends)
    if one == other:
        raise InvalidArgument("to", "must be another note")
    shared = shared_neighbours.find_shared_neighbours(scored.graph, one, other)

    def read(tx: Reader) -> tuple[_NoteRows, list[GraphLink]]:
        links = link_queries.read_links_between(tx, ((one, other), (other, one)), MAX_LINKS_EACH_WAY)
        return _read_rows(tx, one, scored.path(one)), link_weights.to_graph_links(tx, links, clock.now())

    known, links = await vault.db.read(read)
    parts = _score_parts(scored, one, other, known, sum(shared.values()))
    between = [replace(scored.node(each), score=round(worth, 2), why="shared") for each, worth in shared.items()]
    between.sort(key=lambda node: (-(node.score or 0.0), node.path or ""))
    nodes = [scored.node(one), scored.node(other), *between[: MAX_LINKS_EACH_WAY * 2]]
    shown = await link_lines.add_lines(vault, links)
    return GraphAnswer(
        nodes,
        shown,
        len(shared),
        len(between) > MAX_LINKS_EACH_WAY * 2,
        score=sum_parts(parts),
        parts=round_parts(parts),
    )


async def find_strong_connections(vault: Vault, reference: NoteReference, page: GraphPageRequest) -> GraphAnswer:
    """The notes most strongly related to one, by links, shared neighbours and use."""
    scored, (start,) = await read_graph_and_notes(vault, reference)
    known = await vault.db.read(lambda tx: _read_rows(tx, start, scored.path(start)))
    nodes = await run_in(vault.shared.pool, _rank_connections, scored, start, known)
    return to_page(nodes, f"strong {start}", page, lambda node: node)


def _rank_connections(scored: ScoredGraph, start: int, known: _NoteRows) -> list[GraphNode]:
    shared = shared_neighbours.score_near_notes(scored.graph, start)
    others = set(shared) | find_neighbours(scored.graph, start) | set(_numbers(scored.graph, _used_paths(known)))
    others.discard(start)
    return rank_nodes(
        scored, {each: _score_parts(scored, start, each, known, shared.get(each, 0.0)) for each in others}
    )


def _used_paths(known: _NoteRows) -> set[str]:
    return {path for how in known.used.values() for path in how}


def _numbers(graph: Graph, paths: set[str]) -> list[int]:
    return [number for number, node in graph.nodes.items() if node.path in paths] if paths else []


def to_page(
    found: Sequence[T], listing: str, page: GraphPageRequest, describe: Callable[[T], GraphNode]
) -> GraphAnswer:
    """Cut one page from a ranked list, and describe what is on it."""
    start = parse_offset(page.cursor, listing)
    kept = found[start : start + page.limit]
    more = start + len(kept) < len(found)
    cursor = cursors.encode(listing, "", start + len(kept)) if more else None
    return GraphAnswer([describe(each) for each in kept], total=len(found), truncated=more, cursor=cursor)


def parse_offset(cursor: str | None, listing: str) -> int:
    """The offset a page starts at. Raises ``InvalidArgument`` for a cursor of another list."""
    return max(0, cursors.decode(cursor, listing)[1]) if cursor is not None else 0


async def find_gaps(
    vault: Vault, reference: NoteReference | None, folder: str | None, page: GraphPageRequest
) -> GraphAnswer:
    """Pairs of notes that share neighbours or are used together but do not link each other, strongest first: one note
    with all others, or all pairs in a folder or the vault."""
    listing = f"gaps {reference.path_or_name if reference else ''}\n{folder or ''}"
    start = parse_offset(page.cursor, listing)
    if reference is not None:
        found = await _gaps_of(vault, reference, folder)
    else:
        found = await _gaps_within(vault, folder)
    kept = found[start : start + page.limit]
    more = start + len(kept) < len(found)
    cursor = cursors.encode(listing, "", start + len(kept)) if more else None
    return GraphAnswer(total=len(found), truncated=more, cursor=cursor, gaps=kept)


async def _gaps_of(vault: Vault, reference: NoteReference, folder: str | None) -> list[LinkGap]:
    scored, (start,) = await read_graph_and_notes(vault, reference)
    known = await vault.db.read(lambda tx: _read_rows(tx, start, scored.path(start)))
    nodes = await run_in(vault.shared.pool, _rank_connections, scored, start, known)
    linked = {scored.path(each) for each in find_neighbours(scored.graph, start)}
    return [
        LinkGap(scored.path(start), node.path or "", node.score or 0.0, node.parts or {})
        for node in nodes
        if node.path not in linked and is_within(node.path or "", folder)
    ]


async def _gaps_within(vault: Vault, folder: str | None) -> list[LinkGap]:
    def read(tx: Reader) -> tuple[ScoredGraph, dict[tuple[str, str], float]]:
        return graph_answers.read_scored_graph(tx, vault.graph_cache.at(tx)), co_access_pairs.read_recent_pairs(
            tx, clock.now(), MAX_PAIRS
        )

    scored, used = await vault.db.read(read)
    return await run_in(vault.shared.pool, _all_gaps, scored, used, folder)


def _all_gaps(scored: ScoredGraph, used: Mapping[tuple[str, str], float], folder: str | None) -> list[LinkGap]:
    graph = scored.graph
    inside = {number for number, node in graph.nodes.items() if is_within(node.path, folder)}
    numbers = {graph.nodes[number].path: number for number in inside}
    found: dict[tuple[str, str], ScoreParts] = defaultdict(dict)
    for one, other, shared in shared_neighbours.find_nearest_pairs(graph, inside, MAX_PAIRS):
        found[_order_pair(scored.path(one), scored.path(other))]["shared"] = shared
    for (one_path, other_path), weight in used.items():
        ends = numbers.get(one_path), numbers.get(other_path)
        if ends[0] is not None and ends[1] is not None and ends[1] not in find_neighbours(graph, ends[0]):
            found[_order_pair(one_path, other_path)]["used"] = math.log1p(weight)
    return _sort_by_score(LinkGap(*pair, sum_parts(parts), round_parts(parts)) for pair, parts in found.items())


def _order_pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def _sort_by_score(found: Iterable[LinkGap]) -> list[LinkGap]:
    return sorted((gap for gap in found if gap.score > 0), key=lambda gap: (-gap.score, gap.one, gap.other))


def is_within(path: str, folder: str | None) -> bool:
    """Whether a note lies in a folder or below it; always true without a folder."""
    return not folder or f"{parent_folder(path)}/".startswith(f"{folder.strip('/')}/")
