"""What the writers of a vault link: how often a note is linked where it is named, and how often the notes of a category
are.

That share, the keyphraseness of Mihalcea and Csomai (Wikify! Linking documents to encyclopedic knowledge, 2007), tells
"Page", which is named everywhere and rarely linked, from "Page Template". It is taken from a sample of the notes, the
same one each time, and kept until a twentieth of the vault has changed.
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
"""Notes that are looked at."""

MAX_CHARACTERS = 10_000
"""Characters of each."""

STALE_DIVISOR = 20
"""A vault is looked at anew after as many changes as one in so many of its notes."""

PRIOR = 0.25
"""Share where nothing is known yet: what is found in vaults that are linked by hand."""

WEIGHT = 2.0
"""Namings that the prior counts as."""


@dataclass(frozen=True, slots=True)
class LinkHabits:
    """``change`` of the graph they are as of. By note, and by category: in how many notes of the sample it is named,
    and in how many of those linked. ``words``: those that several notes hold, which are no slips."""

    change: int = 0
    named: Mapping[int, int] = field(default_factory=dict)
    linked: Mapping[int, int] = field(default_factory=dict)
    categories: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    usual: float = PRIOR
    words: frozenset[str] = frozenset()

    def of(self, note: int) -> float:
        """How much likelier than others a note is linked where it is named, as a difference of log odds."""
        share = (self.linked.get(note, 0) + WEIGHT * self.usual) / (self.named.get(note, 0) + WEIGHT)
        return to_log_odds(share) - to_log_odds(self.usual)

    def of_category(self, category: str) -> float:
        """The same of the notes of a category; 0 where there is none."""
        if not category or category not in self.categories:
            return 0.0
        linked, named_ = self.categories[category]
        share = (linked + 2 * WEIGHT * self.usual) / (named_ + 2 * WEIGHT)
        return to_log_odds(share) - to_log_odds(self.usual)

    def stale(self, graph: Graph) -> bool:
        """Whether the graph changed too much since."""
        return self.change != graph.change and graph.change - self.change > len(graph.nodes) // STALE_DIVISOR


def to_log_odds(share: float) -> float:
    """Of a share, which is kept from 0 and 1."""
    share = min(0.99, max(0.01, share))
    return math.log(share / (1 - share))


def read_sample(tx: Reader, graph: Graph) -> dict[int, str]:
    """What some notes say, by number: of a small vault each, of a big one some from all over it. A note without any
    link does not tell what its writer would link."""
    numbers = sorted(graph.out.keys())
    step = max(1, math.ceil(len(numbers) / SAMPLE_NOTES))
    found = {}
    for number in numbers[::step]:
        query = "SELECT body FROM passages WHERE kind = 'note' AND item = ? ORDER BY ordinal LIMIT 100"
        rows = tx.all(query, (number,))
        found[number] = "\n\n".join(row[0] for row in rows)[:MAX_CHARACTERS]
    return found


def count_habits(graph: Graph, lexicon: Lexicon, texts: Mapping[int, str]) -> LinkHabits:
    """Habits as a sample shows them: some tenths of a second, so call it on a thread."""
    names: Counter[int] = Counter()
    links: Counter[int] = Counter()
    seen: Counter[str] = Counter()
    roots: dict[str, str] = {}
    for number, text in texts.items():
        words, said = scan_text(lexicon, text, roots)
        seen.update(words)
        there = said - {number}
        names.update(there)
        links.update(there & graph.out.get(number, frozenset()))
    usual = (sum(links.values()) + 20 * PRIOR) / (sum(names.values()) + 20)
    held = frozenset(word for word, times in seen.items() if times > 1 and len(word) >= MIN_WORD_LENGTH)
    return LinkHabits(graph.change, names, links, _count_by_category(graph, names, links), usual, held)


def _count_by_category(graph: Graph, names: Mapping[int, int], links: Mapping[int, int]) -> dict[str, tuple[int, int]]:
    total: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for number in _keep_with_category(graph, names):
        both = total[graph.nodes[number].category]
        both[0] += links.get(number, 0)
        both[1] += names[number]
    return {category: (linked, all_of) for category, (linked, all_of) in total.items()}


def _keep_with_category(graph: Graph, numbers: Iterable[int]) -> Iterable[int]:
    return (number for number in numbers if number in graph.nodes and graph.nodes[number].category)
