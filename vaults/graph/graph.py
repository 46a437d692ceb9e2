"""The graph of notes: who links to whom, and by what names each note goes. Pure but for reading its rows."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from vaults.db.sql import Reader
from vaults.graph import clock


@dataclass(frozen=True, slots=True)
class Node:
    """A note as the graph shows it. ``number``: its row."""

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
        """Everything it is called, its title first."""
        return tuple(dict.fromkeys((self.title, self.stem, *self.aliases)))


@dataclass(frozen=True, slots=True)
class Graph:
    """All notes by number, and the notes each links to and is linked from, itself left out. A link counts once, however
    often it is made. ``change``: the newest it knows of; ``named``: the newest that concerned a name."""

    change: int = 0
    named: int = 0
    nodes: Mapping[int, Node] = field(default_factory=dict)
    out: Mapping[int, frozenset[int]] = field(default_factory=dict)
    into: Mapping[int, frozenset[int]] = field(default_factory=dict)

    def at(self, path: str) -> Node | None:
        """The note at a path."""
        return next((node for node in self.nodes.values() if node.path == path), None)


NONE: frozenset[int] = frozenset()


def category_of(frontmatter: Mapping[str, Any]) -> str:
    """What kind of thing a note is about, as it says itself; '' where it does not."""
    for field_name in ("category", "type"):
        said = frontmatter.get(field_name)
        if isinstance(said, str) and said.strip():
            return said.strip()[:100]
    return ""


def caught_up(tx: Reader, known: Graph) -> Graph:
    """The graph as it is now, from what is known of it."""
    now = clock.last(tx)
    if now == known.change:
        return known
    first = known.change if now > known.change else 0
    rows = tx.all("SELECT seq, path, title, aliases, frontmatter FROM notes WHERE linked > ?", (first,))
    fresh = {int(row[0]): _node(row) for row in rows}
    nodes = {**known.nodes, **fresh} if first else fresh
    if len(nodes) != int(tx.value("SELECT COUNT(*) FROM notes")):
        living = {int(row[0]) for row in tx.all("SELECT seq FROM notes")}
        nodes = {number: node for number, node in nodes.items() if number in living}
    renamed = len(nodes) != len(known.nodes) or any(known.nodes.get(number) != node for number, node in fresh.items())
    targets = _targets(tx, fresh, everything=not first)
    all_of_them = (dict(known.out) if first else {}) | targets
    out = {number: there for number, each in all_of_them.items() if number in nodes and (there := _living(each, nodes))}
    return Graph(now, now if renamed else known.named, nodes, out, _into(known, out))


def _node(row: tuple[Any, ...]) -> Node:
    number, path, title, aliases, frontmatter = row
    return Node(int(number), path, title, tuple(json.loads(aliases)), category_of(json.loads(frontmatter)))


def read_node(tx: Reader, number: int) -> Node:
    """A note as the graph shows it, from its row. Raises ``KeyError`` where there is none."""
    row = tx.one("SELECT seq, path, title, aliases, frontmatter FROM notes WHERE seq = ?", (number,))
    if row is None:
        raise KeyError(number)
    return _node(row)


def _targets(tx: Reader, notes: Iterable[int], *, everything: bool) -> dict[int, frozenset[int]]:
    """What these notes link to, but for themselves."""
    one = "SELECT DISTINCT note, meant FROM note_links WHERE meant IS NOT NULL"
    rows = tx.all(one) if everything else [row for note in notes for row in tx.all(f"{one} AND note = ?", (note,))]
    found: dict[int, set[int]] = {note: set() for note in notes}
    for note, meant in rows:
        if note != meant:
            found[int(note)].add(int(meant))
    return {note: frozenset(targets) for note, targets in found.items()}


def _living(targets: frozenset[int], nodes: Mapping[int, Node]) -> frozenset[int]:
    return targets if targets <= nodes.keys() else frozenset(each for each in targets if each in nodes)


def _into(known: Graph, out: Mapping[int, frozenset[int]]) -> dict[int, frozenset[int]]:
    """Links the other way round; those of most notes are as they were."""
    changed: dict[int, set[int]] = defaultdict(set)
    lost: dict[int, set[int]] = defaultdict(set)
    for number in known.out.keys() | out.keys():
        before, after = known.out.get(number, NONE), out.get(number, NONE)
        if before is not after and before != after:
            for target in after - before:
                changed[target].add(number)
            for target in before - after:
                lost[target].add(number)
    into = dict(known.into)
    for target in changed.keys() | lost.keys():
        into[target] = (into.get(target, NONE) - lost.get(target, NONE)) | changed.get(target, NONE)
        if not into[target]:
            del into[target]
    return into
