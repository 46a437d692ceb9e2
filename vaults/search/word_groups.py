"""Weighing the forms of a word as one word. FTS5 weighs each by its own rarity and adds them up, so that a rare form
would count for more than the word, and a text with two of them for two words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from vaults.db.sql import Reader
from vaults.index import text_index
from vaults.index.text_index import TextIndex
from vaults.search.fts_expression import quote_words
from vaults.search.private_text import TextSize

WIDER = 3
"""How many times as many passages to rank again as are wanted."""


def weigh_as_one(
    tx: Reader, index: TextIndex, scores: Mapping[int, float], groups: Sequence[Sequence[str]]
) -> dict[int, float]:
    """Scores of shared passages as bm25 would give them if the words of each group were the same word, as rare as the
    commonest of them. How many passages hold any of them says too little: the index counts the text around a passage as
    well, and by that a word with many forms would stand in most."""
    weighed = dict(scores)
    size = TextSize.of(tx, index.shared)
    lengths = text_index.count_words(tx, index.shared, list(scores)) if scores else {}
    for group in merge_overlapping(groups):
        times: defaultdict[int, float] = defaultdict(float)
        weights = []
        for phrase in map(quote_words, group):
            weights.append(size.weight(text_index.count_rows(tx, index.shared, phrase)))
            for passage, score in text_index.score_among(tx, index, phrase, list(lengths)):
                weighed[passage] += score
                times[passage] += size.times(-score / weights[-1], lengths[passage])
        for passage, count in times.items():
            weighed[passage] += min(weights) * size.grown(count, lengths[passage])
    return weighed


def merge_overlapping(groups: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """The groups, those with a word in common as one."""
    merged: list[tuple[str, ...]] = []
    for group in groups:
        apart = [each for each in merged if not set(each) & set(group)]
        joined = (word for each in merged if each not in apart for word in each)
        merged = [*apart, tuple(dict.fromkeys((*joined, *group)))]
    return merged
