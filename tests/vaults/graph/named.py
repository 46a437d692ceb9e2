"""Notes by path, title and aliases, as a graph knows them, for tests without a vault."""

from __future__ import annotations

from collections.abc import Iterable

from vaults.graph.names.gazetteer import Gazetteer, update_gazetteer
from vaults.graph.note_graph import Graph, Node

Called = tuple[str, str, tuple[str, ...]]


def graph_of(notes: Iterable[Called], named: int = 1) -> Graph:
    """The graph of some notes, numbered from 1."""
    nodes = {number: Node(number, *each, "") for number, each in enumerate(notes, 1)}
    return Graph(named, named, nodes)


def gazetteer(*notes: Called) -> Gazetteer:
    """Their names."""
    return update_gazetteer(graph_of(notes), Gazetteer())


def note(path: str, *aliases: str) -> Called:
    """A note that is called as its file."""
    return path, path.rpartition("/")[2].rpartition(".")[0], aliases
