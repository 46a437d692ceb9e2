"""Choosing what a picture shows of a graph: the notes worth a place, their links, and their groups.

However large the graph is, a scene is small: a picture of everything shows nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from vaults.domain.text.sanitize import escape_hidden, to_one_line
from vaults.graph.note_graph import NO_NOTES, Graph, Node

MAX_NAMED = 48
"""Max labelled notes in an overview."""

MAX_DOTS = 200
"""Max notes in an overview; those without a label are mere dots."""

MAX_NEAR = 40
"""Max notes in a neighbourhood, including the middle one."""

MAX_LINES = 1_500
"""Max links shown."""

MAX_GROUPS = 6
"""Max groups with a colour of their own; notes of others are grey."""

REST, TOP = "other", "top level"

_NAME = 500


@dataclass(frozen=True, slots=True)
class SceneDot:
    """A note in a picture."""

    number: int
    title: str
    path: str
    group: int  # index into the scene's ``groups``; -1: none of them
    weight: float  # 0 to 1: how central it is among those shown
    hops: int  # distance from the middle note
    named: bool  # gets a label


@dataclass(frozen=True, slots=True)
class SceneLine:
    """A link between two dots, by number. ``both``: each links to the other."""

    source: int
    target: int
    both: bool


@dataclass(frozen=True, slots=True)
class Scene:
    """A picture before layout. Dots are in order of importance, which depends on paths and scores only."""

    title: str
    dots: tuple[SceneDot, ...]
    lines: tuple[SceneLine, ...]
    groups: tuple[str, ...]
    by: str  # what the groups are: categories or folders
    middle: int | None = None  # the dot that others are shown around
    alone: int = 0  # notes without links, which are only counted
    hidden: int = 0  # other notes left out for lack of room
    cut: int = 0  # links left out for lack of room


def build_overview(graph: Graph, scores: Mapping[int, float], title: str) -> Scene:
    """The most central notes of a vault with labels, and the next ones as dots. ``scores``: 0 to 100 by note; without
    any, the number of links counts."""
    weights = _to_weights(graph, scores)
    linked = {number for number in graph.nodes if _count_links(graph, number)}
    order = sorted(linked, key=lambda number: (-weights[number], graph.nodes[number].path))
    shown = order[:MAX_DOTS]
    scene = _build_scene(graph, weights, shown, dict.fromkeys(shown, 0), frozenset(shown[:MAX_NAMED]))
    left = len(linked) - len(shown)
    return replace(scene, title=to_one_line(title), alone=len(graph.nodes) - len(linked), hidden=left)


def build_neighbourhood(graph: Graph, scores: Mapping[int, float], middle: int, depth: int) -> Scene:
    """A note and what is one or two links away, in either direction; of many, the most closely related. Raises
    ``KeyError`` for a note that is not in the graph."""
    weights, node = _to_weights(graph, scores), graph.nodes[middle]
    hops, mine = _count_hops(graph, middle, depth), _find_neighbours(graph, middle)
    nearness = {number: _measure_nearness(graph, middle, number, mine) for number in hops}
    order = sorted(hops, key=lambda each: (hops[each], -nearness[each], -weights[each], graph.nodes[each].path))
    # The second ring gets a third of the room even if the first could fill all of it.
    first = [number for number in order if hops[number] == 1]
    second = [number for number in order if hops[number] == 2]
    room = MAX_NEAR - 1
    kept = first[: max(room - len(second), room - room // 3)]
    inner = {middle, *kept}
    second = [number for number in second if _find_neighbours(graph, number) & inner]
    shown = [middle, *kept, *second[: room - len(kept)]]
    scene = _build_scene(graph, weights, shown, hops, frozenset(shown))
    return replace(scene, title=to_one_line(node.title), middle=middle, hidden=len(hops) - len(shown))


def _build_scene(
    graph: Graph, weights: Mapping[int, float], shown: list[int], hops: Mapping[int, int], named: Collection[int]
) -> Scene:
    by, groups_of = _find_groups(graph.nodes[number] for number in shown)
    counted = Counter(groups_of[number] for number in shown)
    groups = tuple(sorted(counted, key=lambda name: (-counted[name], name))[:MAX_GROUPS])
    most = max((weights[number] for number in shown), default=0.0) or 1.0
    titles = to_titles(graph.nodes[number] for number in shown)
    dots = tuple(
        SceneDot(
            number=number,
            title=titles[number],
            path=to_label(graph.nodes[number].path),
            group=groups.index(groups_of[number]) if groups_of[number] in groups else -1,
            weight=weights[number] / most,
            hops=hops[number],
            named=number in named,
        )
        for number in shown
    )
    lines = _select_lines(graph, shown)
    return Scene(
        "", dots, lines[:MAX_LINES], tuple(to_label(name) for name in groups), by, cut=max(0, len(lines) - MAX_LINES)
    )


def _select_lines(graph: Graph, shown: list[int]) -> tuple[SceneLine, ...]:
    """Links between the shown notes, those between central ones first."""
    place = {number: index for index, number in enumerate(shown)}
    found = [
        SceneLine(source, target, both)
        for source in shown
        for target in graph.out.get(source, NO_NOTES)
        if target in place
        and ((both := source in graph.out.get(target, NO_NOTES)) is False or place[source] < place[target])
    ]
    found.sort(key=lambda line: (max(place[line.source], place[line.target]), place[line.source], place[line.target]))
    return tuple(found)


def _to_weights(graph: Graph, scores: Mapping[int, float]) -> dict[int, float]:
    if any(scores.get(number, 0.0) > 0 for number in graph.nodes):
        return {number: max(0.0, scores.get(number, 0.0)) for number in graph.nodes}
    return {number: float(_count_links(graph, number)) for number in graph.nodes}


def _count_links(graph: Graph, number: int) -> int:
    return len(graph.out.get(number, NO_NOTES)) + len(graph.into.get(number, NO_NOTES))


def _find_neighbours(graph: Graph, number: int) -> frozenset[int]:
    return graph.out.get(number, NO_NOTES) | graph.into.get(number, NO_NOTES)


def _count_hops(graph: Graph, middle: int, depth: int) -> dict[int, int]:
    hops, edge = {middle: 0}, {middle}
    for hop in range(1, depth + 1):
        edge = {other for number in edge for other in _find_neighbours(graph, number) if other not in hops}
        hops.update(dict.fromkeys(edge, hop))
    return hops


def _measure_nearness(graph: Graph, middle: int, number: int, mine: frozenset[int]) -> float:
    """How closely a note is related to the middle: by shared neighbours relative to its own number, because a hub is
    near to all; and by links in both directions."""
    near = _find_neighbours(graph, number)
    both = middle in graph.out.get(number, NO_NOTES) and number in graph.out.get(middle, NO_NOTES)
    return len(near & mine) / len(near) ** 0.5 + both if near else 0.0


def _find_groups(nodes: Iterable[Node]) -> tuple[str, dict[int, str]]:
    """Group notes by category if most have one, else by the folder below the one they share."""
    found = list(nodes)
    if sum(bool(node.category) for node in found) * 2 > len(found):
        return "category", {node.number: node.category or REST for node in found}
    return "folder", group_by_folder(found)


def group_by_folder(nodes: Iterable[Node]) -> dict[int, str]:
    """The folder of each note, by number: the one below what all of them share."""
    found = list(nodes)
    folders = {node.number: PurePosixPath(node.path).parent.parts for node in found}
    common = 0
    while len({parts[: common + 1] for parts in folders.values()}) == 1 and all(
        len(parts) > common for parts in folders.values()
    ):
        common += 1
    names = {parts[: common + 1] for parts in folders.values()}
    # "API.md" next to the folder "API" is about what lies in there.
    own = {node.number: (*folders[node.number], node.stem) for node in found}
    return {
        number: "/".join(own[number] if own[number] in names else parts[: common + 1]) or TOP
        for number, parts in folders.items()
    }


def to_titles(nodes: Iterable[Node]) -> dict[int, str]:
    """The title of each note, with its folder in front if several have the same."""
    found = {node.number: (node, to_label(node.title) or to_label(node.stem)) for node in nodes}
    times = Counter(title.casefold() for _, title in found.values())
    return {
        number: f"{folder}/{title}" if times[title.casefold()] > 1 and folder else title
        for number, (node, title) in found.items()
        for folder in [to_label(PurePosixPath(node.path).parent.name)]
    }


def to_label(text: str) -> str:
    """A name on one line, without hidden characters, cut to 500 characters."""
    return " ".join(escape_hidden(text[:_NAME]).split())
