"""What a picture shows of a graph: the notes worth a place, their links, and the groups they belong to.

However large the graph is, a scene is small: a picture of everything shows nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from vaults.domain.text.sanitize import one_line, visible
from vaults.graph.note_graph import NONE, Graph, Node

CENTRAL = 48
"""Notes of an overview that are labelled."""

DOTS = 200
"""Notes of an overview in all; the others are dots without a label."""

NEAR = 40
"""Notes around one, in all."""

LINES = 1_500
"""Links shown at most."""

GROUPS = 6
"""Groups with a colour of their own; notes of the others are grey."""

REST, TOP = "other", "top level"

_NAME = 500


@dataclass(frozen=True, slots=True)
class Dot:
    """A note in a picture. ``weight``: 0…1, how central it is among those shown. ``hops``: how far from the note in the
    middle. ``group``: place in the scene's ``groups``; -1: none of them."""

    number: int
    title: str
    path: str
    group: int
    weight: float
    hops: int
    named: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A link between two dots, by number; ``both``: each links to the other."""

    source: int
    target: int
    both: bool


@dataclass(frozen=True, slots=True)
class Scene:
    """A picture before anything has a place. Dots come in the order of their importance, and the order depends on
    nothing but paths and scores. ``by``: what tells the groups apart. ``middle``: the dot others are shown around.
    ``alone``: notes that neither link nor are linked to, which are only counted. ``hidden``: other notes, and ``cut``
    links, there was no room for."""

    title: str
    dots: tuple[Dot, ...]
    lines: tuple[Line, ...]
    groups: tuple[str, ...]
    by: str
    middle: int | None = None
    alone: int = 0
    hidden: int = 0
    cut: int = 0


def overview(graph: Graph, scores: Mapping[int, float], title: str) -> Scene:
    """The most central notes of a vault, named, and the next ones as dots. ``scores``: 0…100 by note; where there are
    none, the number of links tells."""
    weights = _weights(graph, scores)
    linked = {number for number in graph.nodes if _degree(graph, number)}
    order = sorted(linked, key=lambda number: (-weights[number], graph.nodes[number].path))
    shown = order[:DOTS]
    scene = _scene(graph, weights, shown, dict.fromkeys(shown, 0), frozenset(shown[:CENTRAL]))
    left = len(linked) - len(shown)
    return replace(scene, title=one_line(title), alone=len(graph.nodes) - len(linked), hidden=left)


def around(graph: Graph, scores: Mapping[int, float], middle: int, depth: int) -> Scene:
    """A note and what is one or two links away, in either direction; of many, those that hang together with it most.
    Raises ``KeyError`` for a note that is not in the graph."""
    weights, node = _weights(graph, scores), graph.nodes[middle]
    hops, mine = _hops(graph, middle, depth), _neighbours(graph, middle)
    nearness = {number: _nearness(graph, middle, number, mine) for number in hops}
    order = sorted(hops, key=lambda each: (hops[each], -nearness[each], -weights[each], graph.nodes[each].path))
    # The second ring gets a third of the room even where the first would fill all of it.
    first = [number for number in order if hops[number] == 1]
    second = [number for number in order if hops[number] == 2]
    room = NEAR - 1
    kept = first[: max(room - len(second), room - room // 3)]
    inner = {middle, *kept}
    second = [number for number in second if _neighbours(graph, number) & inner]
    shown = [middle, *kept, *second[: room - len(kept)]]
    scene = _scene(graph, weights, shown, hops, frozenset(shown))
    return replace(scene, title=one_line(node.title), middle=middle, hidden=len(hops) - len(shown))


def _scene(
    graph: Graph, weights: Mapping[int, float], shown: list[int], hops: Mapping[int, int], named: Collection[int]
) -> Scene:
    by, groups_of = _groups(graph.nodes[number] for number in shown)
    counted = Counter(groups_of[number] for number in shown)
    groups = tuple(sorted(counted, key=lambda name: (-counted[name], name))[:GROUPS])
    most = max((weights[number] for number in shown), default=0.0) or 1.0
    titles = _titles(graph.nodes[number] for number in shown)
    dots = tuple(
        Dot(
            number,
            titles[number],
            _shown(graph.nodes[number].path),
            groups.index(groups_of[number]) if groups_of[number] in groups else -1,
            weights[number] / most,
            hops[number],
            number in named,
        )
        for number in shown
    )
    lines = _lines(graph, shown)
    return Scene("", dots, lines[:LINES], tuple(_shown(name) for name in groups), by, cut=max(0, len(lines) - LINES))


def _lines(graph: Graph, shown: list[int]) -> tuple[Line, ...]:
    """Links between what is shown, those between central notes first."""
    place = {number: index for index, number in enumerate(shown)}
    found = [
        Line(source, target, both)
        for source in shown
        for target in graph.out.get(source, NONE)
        if target in place
        and ((both := source in graph.out.get(target, NONE)) is False or place[source] < place[target])
    ]
    found.sort(key=lambda line: (max(place[line.source], place[line.target]), place[line.source], place[line.target]))
    return tuple(found)


def _weights(graph: Graph, scores: Mapping[int, float]) -> dict[int, float]:
    if any(scores.get(number, 0.0) > 0 for number in graph.nodes):
        return {number: max(0.0, scores.get(number, 0.0)) for number in graph.nodes}
    return {number: float(_degree(graph, number)) for number in graph.nodes}


def _degree(graph: Graph, number: int) -> int:
    return len(graph.out.get(number, NONE)) + len(graph.into.get(number, NONE))


def _neighbours(graph: Graph, number: int) -> frozenset[int]:
    return graph.out.get(number, NONE) | graph.into.get(number, NONE)


def _hops(graph: Graph, middle: int, depth: int) -> dict[int, int]:
    hops, edge = {middle: 0}, {middle}
    for hop in range(1, depth + 1):
        edge = {other for number in edge for other in _neighbours(graph, number) if other not in hops}
        hops.update(dict.fromkeys(edge, hop))
    return hops


def _nearness(graph: Graph, middle: int, number: int, mine: frozenset[int]) -> float:
    """How much a note hangs together with the middle: by the neighbours it shares with it, for the number of its own,
    because a hub is near to all; and by links in both directions."""
    near = _neighbours(graph, number)
    both = middle in graph.out.get(number, NONE) and number in graph.out.get(middle, NONE)
    return len(near & mine) / len(near) ** 0.5 + both if near else 0.0


def _groups(nodes: Iterable[Node]) -> tuple[str, dict[int, str]]:
    """What tells the notes apart: their category where most say one, else the folder below the one they share."""
    found = list(nodes)
    if sum(bool(node.category) for node in found) * 2 > len(found):
        return "category", {node.number: node.category or REST for node in found}
    folders = {node.number: PurePosixPath(node.path).parent.parts for node in found}
    common = 0
    while len({parts[: common + 1] for parts in folders.values()}) == 1 and all(
        len(parts) > common for parts in folders.values()
    ):
        common += 1
    names = {parts[: common + 1] for parts in folders.values()}
    # "API.md" beside the folder "API" is about what lies in there.
    own = {node.number: (*folders[node.number], node.stem) for node in found}
    return "folder", {
        number: "/".join(own[number] if own[number] in names else parts[: common + 1]) or TOP
        for number, parts in folders.items()
    }


def _titles(nodes: Iterable[Node]) -> dict[int, str]:
    """What each is called; with its folder before it where several are called the same."""
    found = {node.number: (node, _shown(node.title) or _shown(node.stem)) for node in nodes}
    times = Counter(title.casefold() for _, title in found.values())
    return {
        number: f"{folder}/{title}" if times[title.casefold()] > 1 and folder else title
        for number, (node, title) in found.items()
        for folder in [_shown(PurePosixPath(node.path).parent.name)]
    }


def _shown(text: str) -> str:
    """A name on one line, with nothing hidden in it; at most 500 characters."""
    return " ".join(visible(text[:_NAME]).split())
