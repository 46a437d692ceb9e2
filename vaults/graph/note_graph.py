"""The graph of notes: which links to which, and the names each note goes by. Pure except for reading its rows."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from vaults.db.sql import Reader
from vaults.graph import graph_clock


@dataclass(frozen=True, slots=True)
class Node:
    """A note in the graph. ``number``: its row."""

    number: int
    path: str
    title: str
    aliases: tuple[str, ...]
    category: str

    @property
    def stem(self) -> str:
        """Its file's name without ``.md``."""
        return PurePosixPath(self.path).stem

    @property
    def names(self) -> tuple[str, ...]:
        """All its names, its title first."""
        return tuple(dict.fromkeys((self.title, self.stem, *self.aliases)))


@dataclass(frozen=True, slots=True)
class Graph:
    """All notes by number, and their links, without those to themselves. A repeated link counts once."""

    change: int = 0  # the newest change it knows
    named: int = 0  # the newest change that concerned a name
    nodes: Mapping[int, Node] = field(default_factory=dict)
    out: Mapping[int, frozenset[int]] = field(default_factory=dict)  # the notes each links to
    into: Mapping[int, frozenset[int]] = field(default_factory=dict)  # the notes that link to each

    def at(self, path: str) -> Node | None:
        """The note at a path."""
        return next((node for node in self.nodes.values() if node.path == path), None)


NO_NOTES: frozenset[int] = frozenset()


def read_category(frontmatter: Mapping[str, Any]) -> str:
    """The kind of thing a note is about, as its frontmatter says; '' if it does not."""
    for field_name in ("category", "type"):
        category = frontmatter.get(field_name)
        if isinstance(category, str) and category.strip():
            return category.strip()[:100]
    return ""


def catch_up(tx: Reader, known: Graph) -> Graph:
    """Bring ``known`` up to date. Linear in what changed, apart from a count of the notes and a copy of what was
    known."""
    now = graph_clock.read_latest(tx)
    if now == known.change:
        return known
    if not known.change or now < known.change:
        return _read_whole(tx, now)
    fresh = {
        node.number: node for node in map(_node, tx.all(f"{_NODES} WHERE linked > :change", {"change": known.change}))
    }
    nodes = {**known.nodes, **fresh}
    gone = _find_removed(tx, nodes)
    renamed = bool(gone) or any(known.nodes.get(number) != node for number, node in fresh.items())
    links = _Links(dict(known.out), dict(known.into))
    for number in gone:
        links.drop(number)
        del nodes[number]
    for number in fresh.keys() & nodes.keys():
        links.lead(number, _read_targets(tx, number) & nodes.keys())
    return Graph(now, now if renamed else known.named, nodes, links.out, links.into)


_NODES = "SELECT seq, path, title, aliases, frontmatter FROM notes"


def _read_whole(tx: Reader, now: int) -> Graph:
    nodes = {node.number: node for node in map(_node, tx.all(_NODES))}
    out: dict[int, set[int]] = defaultdict(set)
    into: dict[int, set[int]] = defaultdict(set)
    for note, meant in tx.all("SELECT note, meant FROM note_links WHERE meant IS NOT NULL"):
        if note != meant and note in nodes and meant in nodes:
            out[note].add(meant)
            into[meant].add(note)
    return Graph(now, now, nodes, _freeze(out), _freeze(into))


def _freeze(side: Mapping[int, set[int]]) -> dict[int, frozenset[int]]:
    return {number: frozenset(others) for number, others in side.items()}


def _find_removed(tx: Reader, nodes: Mapping[int, Node]) -> set[int]:
    if len(nodes) == int(tx.value("SELECT COUNT(*) FROM notes")):
        return set()
    return nodes.keys() - {note for (note,) in tx.all("SELECT seq FROM notes")}


@dataclass(frozen=True, slots=True)
class _Links:
    """Links in both directions, while they are changed; a note without any is in neither."""

    out: dict[int, frozenset[int]]
    into: dict[int, frozenset[int]]

    def lead(self, number: int, targets: frozenset[int]) -> None:
        """Make ``targets`` the notes that a note links to."""
        before = self.out.get(number, NO_NOTES)
        _put_side(self.out, number, targets)
        for target in targets - before:
            _put_side(self.into, target, self.into.get(target, NO_NOTES) | {number})
        for target in before - targets:
            _put_side(self.into, target, self.into.get(target, NO_NOTES) - {number})

    def drop(self, number: int) -> None:
        """Forget a note, and the links to it."""
        self.lead(number, NO_NOTES)
        for source in self.into.pop(number, NO_NOTES):
            _put_side(self.out, source, self.out.get(source, NO_NOTES) - {number})


def _put_side(side: dict[int, frozenset[int]], number: int, others: frozenset[int]) -> None:
    if others:
        side[number] = others
    else:
        side.pop(number, None)


def read_node(tx: Reader, number: int) -> Node:
    """A note of the graph, from its row. Raises ``KeyError`` if there is none."""
    row = tx.one(f"{_NODES} WHERE seq = :seq", {"seq": number})
    if row is None:
        raise KeyError(number)
    return _node(row)


def _node(row: tuple[Any, ...]) -> Node:
    number, path, title, aliases, frontmatter = row
    others = () if aliases == "[]" else tuple(json.loads(aliases))
    # Few notes have a category, and parsing the frontmatter of all would take longer than everything else.
    category = read_category(json.loads(frontmatter)) if _has_category(frontmatter) else ""
    return Node(int(number), path, title, others, category)


_has_category = re.compile('"(?:category|type)"').search


def _read_targets(tx: Reader, note: int) -> frozenset[int]:
    """The notes that a note links to, except itself."""
    rows = tx.all("SELECT DISTINCT meant FROM note_links WHERE note = :note AND meant IS NOT NULL", {"note": note})
    return frozenset(meant for (meant,) in rows) - {note}
