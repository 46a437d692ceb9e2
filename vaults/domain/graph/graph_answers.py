"""The answers to graph queries: notes, links and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vaults.db.sql import Reader
from vaults.graph import centrality
from vaults.graph.note_graph import NO_NOTES, Graph


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A note; ``exists`` false: a name no one note goes by. ``hub``: how central it is, 0 to 100. ``links_in`` and
    ``links_out`` count notes. ``depth``: steps from where was asked. ``score`` and its ``parts``: what it is ranked by.
    ``why``: in words."""

    title: str
    path: str | None = None
    exists: bool = True
    category: str | None = None
    hub: float | None = None
    links_in: int | None = None
    links_out: int | None = None
    depth: int | None = None
    score: float | None = None
    parts: dict[str, float] | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class GraphLink:
    """A link at a ``line`` of ``source``. ``target``: the path of the note it means; none where ``exists`` is false.
    ``could_be``: notes its name fits, where it means no single one. ``context``: the line it stands in."""

    source: str
    target: str | None
    exists: bool
    line: int
    as_written: str
    kind: str
    heading: str | None = None
    block: str | None = None
    alias: str | None = None
    embed: bool | None = None
    weight: float | None = None
    context: str | None = None
    could_be: list[str] | None = None


@dataclass(frozen=True, slots=True)
class GraphMemory:
    """A memory that speaks of a note: ``relation`` as somebody said, or ``mentions``."""

    id: str
    title: str
    relation: str
    type: str
    author: str


@dataclass(frozen=True, slots=True)
class LinkGap:
    """Two notes that do not link each other although they belong together. ``parts``: by what."""

    one: str
    other: str
    score: float
    parts: dict[str, float]


@dataclass(frozen=True, slots=True)
class GraphCycle:
    """Notes that can all be reached from each other: how many, and the shortest way round through one of them."""

    size: int
    through: list[str]


@dataclass(frozen=True, slots=True)
class GraphPageRequest:
    """How much of a list is wanted. ``cursor``: from the page before."""

    limit: int = 50
    cursor: str | None = None
    max_tokens: int = 4000


@dataclass(frozen=True, slots=True)
class GraphAnswer:
    """What the graph says: of ``total``, these; ``cursor`` asks for more. ``memories``: those that speak of the note.
    ``score`` with its ``parts``: of two notes. ``summary``: figures. ``export``: a document in ``format``; ``picture``:
    the resource that is it, where it is a picture."""

    nodes: list[GraphNode] = field(default_factory=list)
    links: list[GraphLink] = field(default_factory=list)
    total: int | None = None
    truncated: bool = False
    cursor: str | None = None
    memories: list[GraphMemory] | None = None
    score: float | None = None
    parts: dict[str, float] | None = None
    gaps: list[LinkGap] | None = None
    circles: list[GraphCycle] | None = None
    summary: dict[str, float] | None = None
    format: str | None = None
    export: str | None = None
    picture: str | None = None
    note: str | None = None


def to_graph_node(graph: Graph, number: int, hubs: Mapping[int, float]) -> GraphNode:
    """Describe a note for an answer."""
    found = graph.nodes[number]
    return GraphNode(
        title=found.title,
        path=found.path,
        category=found.category or None,
        hub=hubs.get(number, 0.0),
        links_in=len(graph.into.get(number, NO_NOTES)),
        links_out=len(graph.out.get(number, NO_NOTES)),
    )


@dataclass(frozen=True, slots=True)
class ScoredGraph:
    """The graph as of one transaction, with its centrality scores."""

    graph: Graph
    hubs: Mapping[int, float]

    def node(self, number: int) -> GraphNode:
        """Describe a note for an answer."""
        return to_graph_node(self.graph, number, self.hubs)

    def path(self, number: int) -> str:
        """The path of a note."""
        return self.graph.nodes[number].path


def read_scored_graph(tx: Reader, graph: Graph) -> ScoredGraph:
    """Add the stored scores to the graph."""
    return ScoredGraph(graph, centrality.read_scores(tx))
