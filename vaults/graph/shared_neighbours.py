"""How near notes are that share neighbours, after Adamic and Adar (Friends and neighbors on the web, 2003): each shared
one counts 1 / ln of the number of its own neighbours, so that a hub says little. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection

from vaults.graph.note_graph import Graph
from vaults.graph.traversal import find_neighbours

MAX_NEIGHBOURS = 1_000
"""Neighbours above which sharing a note says nothing about two of them."""

SMALL_DEGREE = 60
"""The same limit for a search over all pairs of a vault."""

MAX_PAIRS = 2_000_000
"""Pairs examined in that search, those around the least linked notes first."""


def weigh_neighbour(neighbours: int) -> float:
    """The weight of a shared neighbour that has so many neighbours."""
    return 1.0 / math.log(max(2, neighbours))


def find_shared_neighbours(graph: Graph, one: int, other: int) -> dict[int, float]:
    """The neighbours two notes share, in either direction, and the weight of each."""
    both = find_neighbours(graph, one) & find_neighbours(graph, other)
    return {each: weigh_neighbour(len(find_neighbours(graph, each))) for each in both - {one, other}}


def score_near_notes(graph: Graph, note: int) -> dict[int, float]:
    """Notes that share neighbours with this one, and how near that makes them."""
    found: dict[int, float] = defaultdict(float)
    for each in find_neighbours(graph, note):
        others = find_neighbours(graph, each)
        if len(others) <= MAX_NEIGHBOURS:
            more = weigh_neighbour(len(others))
            for other in others:
                found[other] += more
    found.pop(note, None)
    return dict(found)


def find_nearest_pairs(graph: Graph, within: Collection[int], most: int) -> list[tuple[int, int, float]]:
    """Pairs of notes in ``within`` that share neighbours and do not link each other, nearest first. Takes a good part
    of a second with tens of thousands of links."""
    import numpy as np

    firsts, seconds, worths, looked = [], [], [], 0
    allowed = frozenset(within)
    groups = [(find_neighbours(graph, number) & allowed, len(find_neighbours(graph, number))) for number in graph.nodes]
    for group, size in sorted(groups, key=lambda each: each[1]):
        if size > SMALL_DEGREE or looked > MAX_PAIRS:
            break
        if len(group) > 1:
            members = np.array(sorted(group), dtype=np.int64)
            upper, lower = np.triu_indices(len(members), 1)
            firsts.append(members[upper])
            seconds.append(members[lower])
            worths.append(np.full(len(upper), weigh_neighbour(size)))
            looked += len(upper)
    if not firsts:
        return []
    numbers = np.array(sorted(allowed), dtype=np.int64)
    width = len(numbers)
    codes = np.searchsorted(numbers, np.concatenate(firsts)) * width + np.searchsorted(numbers, np.concatenate(seconds))
    several, place = np.unique(codes, return_inverse=True)
    sums = np.bincount(place, weights=np.concatenate(worths))
    found = []
    for index in np.argsort(-sums, kind="stable"):
        one, other = (int(numbers[each]) for each in divmod(int(several[index]), width))
        if other not in find_neighbours(graph, one):
            found.append((one, other, float(sums[index])))
            if len(found) == most:
                break
    return found
