"""What the writers of a vault link: how often a note, or the notes of a category, are linked where they are named.

That share, the keyphraseness of Mihalcea and Csomai (Wikify! Linking documents to encyclopedic knowledge, 2007),
distinguishes "Page", which is named everywhere and rarely linked, from "Page Template". It is taken from a sample of
the notes, the same one each time, and cached until a twentieth of the vault has changed.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from vaults.db.sql import Reader
from vaults.graph.names.lexicon import MIN_WORD_LENGTH, Lexicon, scan_text
from vaults.graph.note_graph import Graph

SAMPLE_NOTES = 1_000
"""Notes in the sample."""

MAX_CHARACTERS = 10_000
"""Characters read of each."""

STALE_DIVISOR = 20
"""The habits are recomputed after as many changes as one in so many of the notes."""

PRIOR = 0.25
"""Share while nothing is known: what is found in vaults linked by hand."""

WEIGHT = 2.0
"""Mentions that the prior counts as."""


@dataclass(frozen=True, slots=True)
class LinkHabits:
    """How often the sample links what it names."""

    change: int = 0  # change of the graph they were computed at
    named: Mapping[int, int] = field(default_factory=dict)  # by note: sample notes that name it
    linked: Mapping[int, int] = field(default_factory=dict)  # by note: those of them that link it
    categories: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # by category: linked, and named
    usual: float = PRIOR  # share over all notes
    words: frozenset[str] = frozenset()  # words that several notes hold, so no slips

    def of(self, note: int) -> float:
        """How much likelier than others a note is linked where it is named, as difference of log odds."""
        share = (self.linked.get(note, 0) + WEIGHT * self.usual) / (self.named.get(note, 0) + WEIGHT)
        return to_log_odds(share) - to_log_odds(self.usual)

    def of_category(self, category: str) -> float:
        """The same for the notes of a category; 0 if it is unknown."""
        if not category or category not in self.categories:
            return 0.0
        linked, named_ = self.categories[category]
        share = (linked + 2 * WEIGHT * self.usual) / (named_ + 2 * WEIGHT)
        return to_log_odds(share) - to_log_odds(self.usual)

    def stale(self, graph: Graph) -> bool:
        """Whether the graph has changed too much since."""
        return self.change != graph.change and graph.change - self.change > len(graph.nodes) // STALE_DIVISOR


def to_log_odds(share: float) -> float:
    """The log odds of a share, which is kept away from 0 and 1."""
    share = min(0.99, max(0.01, share))
    return math.log(share / (1 - share))


def read_sample(tx: Reader, graph: Graph) -> dict[int, str]:
    """The texts of the sample, by number: all notes of a small vault, evenly spread ones of a big one. Notes without
    any link are left out: they do not tell what their writer would link."""
    numbers = sorted(graph.out.keys())
    step = max(1, math.ceil(len(numbers) / SAMPLE_NOTES))
    found = {}
    for number in numbers[::step]:
        query = "SELECT body FROM passages WHERE kind = 'note' AND item = :item ORDER BY ordinal LIMIT 100"
        rows = tx.all(query, {"item": number})
        found[number] = "\n\n".join(row[0] for row in rows)[:MAX_CHARACTERS]
    return found


def count_habits(graph: Graph, lexicon: Lexicon, texts: Mapping[int, str]) -> LinkHabits:
    """Compute the habits from a sample. Takes some tenths of a second, so call it on a thread."""
    names: Counter[int] = Counter()
    links: Counter[int] = Counter()
    seen: Counter[str] = Counter()
    roots: dict[str, str] = {}
    for number, text in texts.items():
        words, mentioned = scan_text(lexicon, text, roots)
        seen.update(words)
        others = mentioned - {number}
        names.update(others)
        links.update(others & graph.out.get(number, frozenset()))
    usual = (sum(links.values()) + 20 * PRIOR) / (sum(names.values()) + 20)
    repeated = frozenset(word for word, times in seen.items() if times > 1 and len(word) >= MIN_WORD_LENGTH)
    return LinkHabits(
        change=graph.change,
        named=names,
        linked=links,
        categories=_count_by_category(graph, names, links),
        usual=usual,
        words=repeated,
    )


def _count_by_category(graph: Graph, names: Mapping[int, int], links: Mapping[int, int]) -> dict[str, tuple[int, int]]:
    total: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for number in _keep_with_category(graph, names):
        both = total[graph.nodes[number].category]
        both[0] += links.get(number, 0)
        both[1] += names[number]
    return {category: (linked, all_of) for category, (linked, all_of) in total.items()}


def _keep_with_category(graph: Graph, numbers: Iterable[int]) -> Iterable[int]:
    return (number for number in numbers if number in graph.nodes and graph.nodes[number].category)
