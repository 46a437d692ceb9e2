"""Guessing what a broken link most likely means: a note with a similar name, or one of several that share its name.
Pure, but slow: call it on a worker thread for many links."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from vaults.files.paths import parent_folder
from vaults.graph.note_graph import Graph, Node
from vaults.markdown.link_resolution import fold_name, name_key

MIN_CERTAIN = 0.85
"""Confidence from which a link may be repaired unasked."""

MIN_SIMILARITY = 70.0
"""Min similarity of two names, in per cent."""

MIN_LEAD = 0.05
"""Min lead in confidence of the best guess over the next to count as certain."""

ELSEWHERE_CONFIDENCE = 0.8
"""Max confidence in a note that lies in none of the folders that a link gives."""

DOUBT_FACTOR = 0.6
"""Factor for confidence if another note is as likely, or if numbers differ."""

BATCH_SIZE = 200
"""Names compared with all others at a time."""

MAX_GUESSES = 3
MAX_NAME_LENGTH = 200
"""Max characters of a name that are compared."""

MIN_NAME_LENGTH = 4
"""Min characters of a name for its similarity to mean anything."""

_PLAIN = re.compile(r"[\W_]+")
_NUMBERS = re.compile(r"\d+")

GuessBasis = Literal["name", "spelling", "near", "meaning"]


@dataclass(frozen=True, slots=True)
class TargetGuess:
    """A note a link may be meant for. ``name``: what of it fitted; ``by``: because it has the link's name but lies
    elsewhere, is spelled alike, lies nearest of several of one name, or is about the same."""

    path: str
    name: str
    confidence: float
    by: GuessBasis


@dataclass(slots=True)
class TargetGuesser:
    """Finds notes by inexact names. Made for one call, for it caches all results."""

    graph: Graph
    _names: dict[str, list[tuple[str, Node]]] = field(init=False, default_factory=lambda: defaultdict(list))
    _plain: dict[str, list[tuple[str, Node]]] = field(init=False, default_factory=lambda: defaultdict(list))
    _known: dict[str, list[TargetGuess]] = field(init=False, default_factory=dict)
    _sorted: list[str] = field(init=False)

    def __post_init__(self) -> None:
        for node in self.graph.nodes.values():
            for name in node.names:
                key = fold_name(name)[:MAX_NAME_LENGTH]
                self._names[key].append((name, node))
                self._plain[_PLAIN.sub("", key)].append((name, node))
        self._sorted = [_sort_words(key) for key in self._names]

    def likely(self, page: str) -> list[TargetGuess]:
        """Notes that a link to ``page`` may mean, the likeliest first."""
        return self.several([page])[0]

    def several(self, pages: Sequence[str]) -> list[list[TargetGuess]]:
        """Like ``likely``, for many: each takes a fraction of a millisecond in a vault of ten thousand notes."""
        wanted = [name_key(page)[:MAX_NAME_LENGTH] for page in pages]
        alike = []
        for key in dict.fromkeys(wanted):
            if key not in self._known:
                self._known[key] = self._find_namesakes(key)
                plain = _PLAIN.sub("", key)
                alike += [key] if not self._known[key] and len(plain) >= MIN_NAME_LENGTH else []
        for first in range(0, len(alike), BATCH_SIZE):
            self._known.update(self._alike(alike[first : first + BATCH_SIZE]))
        return [_adjust_for_folders(page, self._known[key]) for page, key in zip(pages, wanted, strict=True)]

    def _find_namesakes(self, wanted: str) -> list[TargetGuess]:
        """Notes with exactly this name elsewhere, or the same name apart from punctuation and spaces."""
        if wanted in self._names:
            return _rank_guesses([(name, node, 0.95, "name") for name, node in self._names[wanted]])
        plain = _PLAIN.sub("", wanted)
        if len(plain) >= 2 and plain in self._plain:
            return _rank_guesses([(name, node, 0.93, "spelling") for name, node in self._plain[plain]])
        return []

    def _alike(self, wanted: Sequence[str]) -> dict[str, list[TargetGuess]]:
        """Notes with similarly spelled names; slightly less confident if their words are in another order."""
        import numpy as np
        from rapidfuzz import fuzz
        from rapidfuzz.process import cdist

        if not self._names:
            return {}
        names = list(self._names)
        straight = cdist(wanted, names, scorer=fuzz.ratio, score_cutoff=MIN_SIMILARITY, dtype=np.float32)
        sorted_ = cdist(
            [_sort_words(key) for key in wanted], self._sorted, scorer=fuzz.ratio, score_cutoff=MIN_SIMILARITY
        )
        scores = np.maximum(straight, sorted_ * 0.97)
        found = {}
        for row, key in zip(scores, wanted, strict=True):
            best: list[int] = np.argsort(-row, kind="stable")[: 2 * MAX_GUESSES].tolist() if row.any() else []
            close = [
                (names[place], _score_likeness(key, names[place], row[place]))
                for place in best
                if row[place] >= MIN_SIMILARITY
            ]
            found[key] = _rank_guesses(
                [(name, node, share, "spelling") for known, share in close for name, node in self._names[known]]
            )
        return found


def _score_likeness(wanted: str, name: str, score: float) -> float:
    """The confidence of a similarity: names with different numbers are probably different things."""
    return float(score) / 100 * (1 if _NUMBERS.findall(wanted) == _NUMBERS.findall(name) else DOUBT_FACTOR)


def _adjust_for_folders(page: str, found: list[TargetGuess]) -> list[TargetGuess]:
    """Lower the confidence of notes that lie in none of the folders the link gives."""
    given = {each for each in fold_name(parent_folder(page)).split("/") if each}
    if not given:
        return found
    return [
        each
        if given & set(fold_name(parent_folder(each.path)).split("/"))
        else replace(each, confidence=min(each.confidence, ELSEWHERE_CONFIDENCE))
        for each in found
    ]


def _sort_words(key: str) -> str:
    return " ".join(sorted(key.split()))


def _rank_guesses(found: Collection[tuple[str, Node, float, GuessBasis]]) -> list[TargetGuess]:
    best: dict[str, TargetGuess] = {}
    for name, node, confidence, by in found:
        if node.path not in best or best[node.path].confidence < confidence:
            best[node.path] = TargetGuess(node.path, name, round(confidence, 2), by)
    ranked = sorted(best.values(), key=lambda each: (-each.confidence, each.path))[:MAX_GUESSES]
    if len(ranked) > 1 and ranked[0].confidence - ranked[1].confidence < MIN_LEAD:
        return [replace(each, confidence=round(each.confidence * DOUBT_FACTOR, 2)) for each in ranked]
    return ranked


def rank_by_distance(source: str, fitting: Mapping[str, str]) -> list[TargetGuess]:
    """Of several notes that fit a link (title by path), the nearest to its own note."""
    ordered = sorted(fitting, key=lambda path: (_count_steps(source, path), path))[:MAX_GUESSES]
    return [TargetGuess(path, fitting[path], round(0.5 / (place + 1), 2), "near") for place, path in enumerate(ordered)]


def _count_steps(source: str, path: str) -> int:
    """How many folders up and down lead from one note to another."""
    here, there = parent_folder(source).split("/"), parent_folder(path).split("/")
    same = 0
    for one, other in zip(here, there, strict=False):
        if one != other:
            break
        same += 1
    return len(here) + len(there) - 2 * same


def find_certain(found: Sequence[TargetGuess]) -> TargetGuess | None:
    """The most likely note, if it is certain."""
    return found[0] if found and found[0].confidence >= MIN_CERTAIN and found[0].by != "near" else None
