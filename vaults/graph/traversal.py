"""Paths through the graph, found breadth-first. Pure; each search is linear in the links it may follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from vaults.graph.note_graph import NO_NOTES, Graph

Direction: TypeAlias = Literal["out", "in", "both"]
"""Along links, against them, or either way."""

LinkSides: TypeAlias = tuple[Mapping[int, frozenset[int]], ...]


def _sides(graph: Graph, direction: Direction) -> LinkSides:
    return {"out": (graph.out,), "in": (graph.into,), "both": (graph.out, graph.into)}[direction]


def find_neighbours(graph: Graph, note: int, direction: Direction = "both") -> frozenset[int]:
    """The notes one link away."""
    return NO_NOTES.union(*(side.get(note, NO_NOTES) for side in _sides(graph, direction)))


def find_rings(graph: Graph, start: int, depth: int, direction: Direction) -> list[set[int]]:
    """The notes at each distance, from the start itself to ``depth``; fewer rings if there are no more notes."""
    sides, seen, found = _sides(graph, direction), {start}, [{start}]
    while len(found) <= depth:
        ring = _next_ring(sides, found[-1]) - seen
        if not ring:
            break
        seen |= ring
        found.append(ring)
    return found


def _next_ring(sides: LinkSides, notes: set[int]) -> set[int]:
    return set().union(*(side[note] for side in sides for note in notes if note in side))


def find_shortest_path(graph: Graph, start: int, end: int, depth: int, direction: Direction) -> list[int] | None:
    """The shortest path between two notes, both included; of several always the same, as long as the graph is. None if
    there is none of at most ``depth`` steps. Searches from both ends, extending whichever has the smaller front."""
    if start == end:
        return [start]
    sides, against = _sides(graph, direction), _REVERSED[direction]
    others = _sides(graph, against)
    ahead, behind = [{start}], [{end}]
    seen, known = {start}, {end}
    while len(ahead) + len(behind) - 2 < depth:
        if len(ahead[-1]) <= len(behind[-1]):
            ring = _next_ring(sides, ahead[-1]) - seen
            seen |= ring
            ahead.append(ring)
        else:
            ring = _next_ring(others, behind[-1]) - known
            known |= ring
            behind.append(ring)
        if not ring:
            return None
        if meeting := ahead[-1] & behind[-1]:
            middle = min(meeting, key=lambda number: graph.nodes[number].path)
            return _trace_back(graph, ahead, middle, direction) + _trace_back(graph, behind, middle, against)[-2::-1]
    return None


_REVERSED: Mapping[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}


def _trace_back(graph: Graph, found: list[set[int]], end: int, direction: Direction) -> list[int]:
    """A path from the first ring to a note in the last one; of several the one whose notes come first by path, looking
    back from the end."""
    way = [end]
    for ring in reversed(found[:-1]):
        before = find_neighbours(graph, way[-1], _REVERSED[direction]) & ring
        way.append(min(before, key=lambda number: graph.nodes[number].path))
    return way[::-1]


def find_cycle(graph: Graph, start: int, within: frozenset[int]) -> list[int] | None:
    """The shortest path along links from a note back to itself, within some notes; the start is listed once."""
    seen, found = {start}, [{start}]
    while start not in (ring := _next_ring((graph.out,), found[-1]) & within):
        ring -= seen
        if not ring:
            return None
        seen |= ring
        found.append(ring)
    return _trace_back(graph, [*found, {start}], start, "out")[:-1]
