"""Connected components of the graph, and cycles in it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from vaults.graph.note_graph import NO_NOTES, Graph
from vaults.graph.traversal import find_cycle, find_neighbours

MAX_STARTS = 50
"""Max notes of a group that are tried as starts of its shortest cycle."""


def find_components(graph: Graph, inside: Collection[int]) -> list[set[int]]:
    """Components connected by links within ``inside``, in either direction; an unlinked note is one, too."""
    left, found = set(inside), []
    while left:
        ring = {left.pop()}
        part = set(ring)
        while ring:
            ring = {other for number in ring for other in find_neighbours(graph, number)} & left
            left -= ring
            part |= ring
        found.append(part)
    return found


def find_strong_components(graph: Graph, inside: Collection[int]) -> list[list[int]]:
    """Strongly connected components of two or more notes, largest first, then by path."""
    import rustworkx

    numbers = sorted(inside)
    place = {number: index for index, number in enumerate(numbers)}
    directed = rustworkx.PyDiGraph(multigraph=True)
    directed.add_nodes_from(numbers)
    links = [(place[a], place[b]) for a in numbers for b in graph.out.get(a, NO_NOTES) if b in place]
    directed.add_edges_from_no_data(links)
    found = [
        sorted((numbers[index] for index in group), key=lambda number: graph.nodes[number].path)
        for group in rustworkx.strongly_connected_components(directed)
        if len(group) > 1
    ]
    return sorted(found, key=lambda group: (-len(group), graph.nodes[group[0]].path))


def find_cycles(graph: Graph, several: Sequence[Sequence[int]]) -> list[list[int]]:
    """A short cycle in each group: the shortest through one of its first ``MAX_STARTS`` notes."""
    return [_find_cycle(graph, group) for group in several]


def _find_cycle(graph: Graph, group: Sequence[int]) -> list[int]:
    within = frozenset(group)
    best: list[int] = []
    for start in group[:MAX_STARTS]:
        way = find_cycle(graph, start, within)
        if way is not None and (not best or len(way) < len(best)):
            best = way
        if len(best) == 2:
            break
    return best
