"""Ways through the graph are the shortest there are, and always the same.

Covers vaults.graph.shared_neighbours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import rustworkx
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.work import examples
from vaults.graph import shared_neighbours, traversal
from vaults.graph.note_graph import Graph, Node

LINKS = st.sets(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=40)


def graph_of(links: Iterable[tuple[int, int]], nodes: int = 12) -> Graph:
    out, into = defaultdict(set), defaultdict(set)
    for source, target in links:
        if source != target:
            out[source].add(target)
            into[target].add(source)
    return Graph(
        1,
        1,
        {number: Node(number, f"{number:05}.md", str(number), (), "") for number in range(nodes)},
        {number: frozenset(each) for number, each in out.items()},
        {number: frozenset(each) for number, each in into.items()},
    )


def _lengths(links: Iterable[tuple[int, int]], direction: str) -> dict[int, dict[int, int]]:
    theirs = rustworkx.PyDiGraph()
    theirs.add_nodes_from(range(12))
    for source, target in links:
        theirs.add_edge(*((source, target) if direction != "in" else (target, source)), None)
        if direction == "both":
            theirs.add_edge(target, source, None)
    matrix = rustworkx.distance_matrix(theirs, null_value=-1)
    return {a: {b: int(matrix[a][b]) for b in range(12) if matrix[a][b] >= 0} for a in range(12)}


@settings(max_examples=examples(60), deadline=None)
@given(links=LINKS, direction=st.sampled_from(("out", "in", "both")), depth=st.integers(1, 11))
def test_a_way_is_as_short_as_another_program_says(
    links: set[tuple[int, int]], direction: traversal.Direction, depth: int
) -> None:
    graph, lengths = graph_of(links), _lengths(links, direction)
    for start in range(12):
        rings = traversal.find_rings(graph, start, depth, direction)
        assert {note: step for step, ring in enumerate(rings) for note in ring} == {
            note: steps for note, steps in lengths[start].items() if steps <= depth
        }
        for end in range(12):
            way = traversal.find_shortest_path(graph, start, end, depth, direction)
            steps = lengths[start].get(end, 99)
            assert (len(way) - 1 if way else None) == (steps if steps <= depth else None)
            for one, other in zip(way or [], (way or [])[1:], strict=False):
                assert other in traversal.find_neighbours(graph, one, direction)


@settings(max_examples=examples(60), deadline=None)
@given(links=LINKS)
def test_a_circle_leads_back_by_the_fewest_links(links: set[tuple[int, int]]) -> None:
    graph, lengths = graph_of(links), _lengths(links, "out")
    for start in range(12):
        way = traversal.find_cycle(graph, start, frozenset(range(12)))
        back = [1 + lengths[other][start] for other in graph.out.get(start, ()) if start in lengths[other]]
        assert (len(way) if way else None) == min(back, default=None)
        if way:
            assert all(other in graph.out[one] for one, other in zip(way, [*way[1:], way[0]], strict=True))


@settings(max_examples=examples(60), deadline=None)
@given(links=LINKS)
def test_all_near_pairs_are_those_found_one_by_one(links: set[tuple[int, int]]) -> None:
    graph = graph_of(links)
    expected = {
        (one, other): sum(shared_neighbours.find_shared_neighbours(graph, one, other).values())
        for one in range(12)
        for other in range(one + 1, 12)
        if other not in traversal.find_neighbours(graph, one)
        and shared_neighbours.find_shared_neighbours(graph, one, other)
    }
    found = {(one, other): score for one, other, score in shared_neighbours.find_nearest_pairs(graph, range(12), 1_000)}
    assert found.keys() == expected.keys()
    for pair, score in expected.items():
        assert abs(found[pair] - score) < 1e-9
        assert abs(shared_neighbours.score_near_notes(graph, pair[0])[pair[1]] - score) < 1e-9


def test_a_hub_of_ten_thousand_says_nothing_of_any_two_and_takes_no_time() -> None:
    graph = graph_of([(0, ray) for ray in range(1, 10_001)], 10_001)
    assert shared_neighbours.score_near_notes(graph, 1) == {}
    assert shared_neighbours.find_nearest_pairs(graph, range(10_001), 100) == []
    assert traversal.find_shortest_path(graph, 1, 2, 10, "both") == [1, 0, 2]
    assert traversal.find_shortest_path(graph, 1, 2, 10, "out") is None
