"""What a link that leads nowhere most likely means: a note called alike, or one of those that share its name. Pure, but
for the time it takes: call it on a thread where there are many links."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from vaults.files.paths import parent
from vaults.graph.graph import Graph, Node
from vaults.markdown.resolve import folded, name_key

SURE = 0.85
"""Confidence from which a link may be set right unasked."""

ALIKE = 70.0
"""Per cent of a name that must be alike."""

RIVAL = 0.05
"""Confidence by which the best must be ahead of another note to be taken for sure."""

SHOWN = 3
LONG = 200
"""Characters of a name that are compared."""

SHORT = 4
"""Characters of a name below which likeness says nothing."""

_PLAIN = re.compile(r"[\W_]+")

How = Literal["name", "spelling", "near", "meaning"]


@dataclass(frozen=True, slots=True)
class Likely:
    """A note a link may be meant for. ``name``: what of it fitted; ``by``: because it has the link's name but lies
    elsewhere, is spelled alike, lies nearest of several of one name, or is about the same."""

    path: str
    name: str
    confidence: float
    by: How


@dataclass(slots=True)
class Guesser:
    """Looks for notes by names that are not quite theirs. For one call: it keeps what it was asked."""

    graph: Graph
    _names: dict[str, list[tuple[str, Node]]] = field(init=False, default_factory=lambda: defaultdict(list))
    _plain: dict[str, list[tuple[str, Node]]] = field(init=False, default_factory=lambda: defaultdict(list))
    _known: dict[str, list[Likely]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for node in self.graph.nodes.values():
            for name in node.names:
                key = folded(name)[:LONG]
                self._names[key].append((name, node))
                self._plain[_PLAIN.sub("", key)].append((name, node))

    def likely(self, page: str) -> list[Likely]:
        """Notes that a link to ``page`` may be meant for, the likeliest first."""
        wanted = name_key(page)[:LONG]
        if wanted not in self._known:
            self._known[wanted] = self._likely(wanted)
        return self._known[wanted]

    def _likely(self, wanted: str) -> list[Likely]:
        plain = _PLAIN.sub("", wanted)
        if wanted in self._names:
            return _ranked([(name, node, 0.95, "name") for name, node in self._names[wanted]])
        if len(plain) >= 2 and plain in self._plain:
            return _ranked([(name, node, 0.93, "spelling") for name, node in self._plain[plain]])
        if len(plain) < SHORT:
            return []
        return _ranked(
            [
                (name, node, share / 100, "spelling")
                for key, share in _alike(wanted, list(self._names))
                for name, node in self._names[key]
            ]
        )


def _alike(wanted: str, names: Sequence[str]) -> list[tuple[str, float]]:
    """Names with how far they are alike, in per cent; with their words in another order a little less."""
    from rapidfuzz import fuzz, process

    best: dict[str, float] = {}
    for scorer, share in ((fuzz.ratio, 1.0), (fuzz.token_sort_ratio, 0.97)):
        for key, score, _ in process.extract(wanted, names, scorer=scorer, score_cutoff=ALIKE, limit=2 * SHOWN):
            best[key] = max(best.get(key, 0.0), score * share)
    return list(best.items())


def _ranked(found: Collection[tuple[str, Node, float, How]]) -> list[Likely]:
    best: dict[str, Likely] = {}
    for name, node, confidence, by in found:
        if node.path not in best or best[node.path].confidence < confidence:
            best[node.path] = Likely(node.path, name, round(confidence, 2), by)
    ranked = sorted(best.values(), key=lambda each: (-each.confidence, each.path))[:SHOWN]
    if len(ranked) > 1 and ranked[0].confidence - ranked[1].confidence < RIVAL:
        return [Likely(each.path, each.name, round(each.confidence * 0.6, 2), each.by) for each in ranked]
    return ranked


def nearest(source: str, fitting: Mapping[str, str]) -> list[Likely]:
    """Of several notes that a link fits (title by path) those that lie nearest to it."""
    ordered = sorted(fitting, key=lambda path: (_steps(source, path), path))[:SHOWN]
    return [Likely(path, fitting[path], round(0.5 / (place + 1), 2), "near") for place, path in enumerate(ordered)]


def _steps(source: str, path: str) -> int:
    """Folders one goes up and down from one note to another."""
    here, there = parent(source).split("/"), parent(path).split("/")
    same = 0
    for one, other in zip(here, there, strict=False):
        if one != other:
            break
        same += 1
    return len(here) + len(there) - 2 * same


def sure(found: Sequence[Likely]) -> Likely | None:
    """The note that a link is most likely meant for, where that is beyond doubt."""
    return found[0] if found and found[0].confidence >= SURE and found[0].by != "near" else None
