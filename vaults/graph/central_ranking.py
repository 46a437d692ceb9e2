"""Notes in the order of how central they are, in little memory."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass

from vaults.graph.note_graph import Graph


@dataclass(frozen=True, slots=True)
class CentralRanking:
    """Notes by number, the most central first, and the score of each: 16 bytes a note."""

    numbers: array[int]
    hubs: array[float]


def rank_notes(graph: Graph, hubs: Mapping[int, float]) -> CentralRanking:
    """The notes of the graph with a score above 0; of equal ones that first whose path is. Takes some 20 ms for 10,000
    notes: call it on a thread."""
    nodes = graph.nodes
    found = sorted((-hub, nodes[number].path, number) for number, hub in hubs.items() if hub > 0 and number in nodes)
    return CentralRanking(array("q", (each[2] for each in found)), array("d", (-each[0] for each in found)))
