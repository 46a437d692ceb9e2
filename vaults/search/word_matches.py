"""Where a question's words stand in the candidates' own texts, in any form the index holds as the same word.

The index knows that a passage matches, neither where nor how much of that is the text around it. Reading a hundred
texts word by word costs more than the rest of a search; looking for the beginnings of a few words in all of them at
once does not, and only what is found there is stemmed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from vaults.index.stemming import stem_as_indexed
from vaults.search.joined_texts import JoinedTexts
from vaults.search.query import Query
from vaults.search.word_forms import fold

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from vaults.index.flat_vectors import Ids

    Figures: TypeAlias = NDArray[np.float64]

MAX_PLACES = 4_000
"""Places of words that count; only texts made of the question's words have more."""

COMMONEST = 0.6
"""Share of passages at which a word's weight stops falling: what stands everywhere still tells a little."""

PAIR = 24
"""Characters between the beginnings of two words that count as side by side, at most."""

NEAR = 16.0
"""Characters in which the worth of two words' being near falls to 0.37 of itself."""

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class WordMatches:
    """``counts``: how often each candidate (row) holds each word (column). ``weights``: what each word tells, summing
    to 1 over those that any candidate holds; all 0 where none does. ``pairs`` and ``nearness`` of each candidate,
    0…1: the weight of words that stand side by side in the question's order, and of words near each other."""

    counts: Figures
    weights: Figures
    pairs: Figures
    nearness: Figures


@dataclass(frozen=True, slots=True)
class _SoughtWord:
    """A word to look for: ``number`` counts its forms as one."""

    number: int
    word: str
    stem: str
    beginning: str


def find_matches(
    texts: JoinedTexts, query: Query, shares: Mapping[str, float], left_out: Iterable[str] = ()
) -> WordMatches:
    """The matches of ``query`` in ``texts``. ``shares``: of the vault's passages that hold a word, where known;
    else the candidates tell. Words ``left_out`` (names of who speaks) count nothing."""
    import numpy as np

    sought, told = _list_words(query, shares, frozenset(left_out))
    pairs = _list_pairs(query, told)
    # A place and a word's number as one number, which sorts and compares quicker than a pair.
    places = np.unique(np.fromiter(_find_places(texts, sought, pairs, len(told)), np.int64))[:MAX_PLACES]
    counts = np.zeros((len(texts), len(told)))
    if not len(places):
        none = np.zeros(len(texts))
        return WordMatches(counts, np.zeros(len(told)), none, none)
    at, word = np.divmod(places, len(told))
    row = np.searchsorted(texts.starts, at, side="right") - 1
    np.add.at(counts, (row, word), 1)
    weights = _weigh(counts, told)
    return WordMatches(counts, weights, *_read_order(at, word, row, weights, len(texts)))


def _list_words(
    query: Query, shares: Mapping[str, float], left_out: frozenset[str]
) -> tuple[list[_SoughtWord], list[float | None]]:
    """The words, and for each number the greatest share of any of its forms, None where it is not known."""
    first = {form: group[0] for group in query.groups for form in group}
    numbers: dict[str, int] = {}
    told: list[float | None] = []
    sought = []
    for term in query.terms:
        if term in left_out:
            continue
        number = numbers.setdefault(first.get(term, term), len(numbers))
        if number == len(told):
            told.append(None)
        if share := shares.get(term, 0.0):
            told[number] = max(share, told[number] or 0.0)
        sought += [_to_sought(number, word) for word in _WORD.findall(fold(term))]
    return sought, told


def _to_sought(number: int, word: str) -> _SoughtWord:
    stem = _stem(word)
    root = stem[:-1] if len(stem) > 3 and stem[-1] in "ie" else stem  # happi is written happy, and incredibl… with y
    return _SoughtWord(number, word, stem, root if word.startswith(root) else word[:3])


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    return stem_as_indexed(word)


def _list_pairs(query: Query, told: list[float | None]) -> list[tuple[int, str]]:
    """Pairs of characters of scripts without spaces, each as a word of its own."""
    found = dict.fromkeys(
        fold(run[at : at + 2]) for run in query.unspaced for at in range(max(1, min(len(run) - 1, 48)))
    )
    numbered = list(enumerate(found, len(told)))
    told += [None] * len(numbered)
    return numbered


def _find_places(
    texts: JoinedTexts, sought: Sequence[_SoughtWord], pairs: Sequence[tuple[int, str]], words: int
) -> Iterator[int]:
    """Each place times ``words``, their count, plus the number of the word that stands there."""
    for each in sought:
        for at, word in texts.find_words(each.beginning):
            if word == each.word or _stem(word) == each.stem:
                yield at * words + each.number
    for number, pair in pairs:
        for at in texts.find(pair):
            yield at * words + number


def _weigh(counts: Figures, told: Sequence[float | None]) -> Figures:
    """Inverse frequencies, as shares of all."""
    import numpy as np

    held = (counts > 0).sum(axis=0)
    number = len(counts)
    weights: Figures = np.array(
        [
            -math.log(min(share, COMMONEST)) if share else 1.0 + math.log((number + 1) / (held[column] + 0.5))
            for column, share in enumerate(told)
        ]
    )
    weights[held == 0] = 0.0
    weights /= max(float(weights.sum()), 1e-9)
    return weights


def _read_order(at: Ids, word: Ids, row: Ids, weights: Figures, number: int) -> tuple[Figures, Figures]:
    import numpy as np

    gap = at[1:] - at[:-1]
    joint = np.minimum(weights[word[1:]], weights[word[:-1]]) * ((row[1:] == row[:-1]) & (word[1:] != word[:-1]))
    ordered = joint * ((word[1:] == word[:-1] + 1) & (gap <= PAIR))
    near = joint * np.exp(-np.maximum(gap - 8, 0) / NEAR)
    pairs = np.bincount(row[1:], ordered, number)
    nearness = np.bincount(row[1:], near, number)
    return np.minimum(pairs, 1.0), np.minimum(nearness, 1.0)
