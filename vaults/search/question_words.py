"""The words of a question that tell what it is about, each with its weight, and which of them a text holds. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from vaults.graph.names.common_words import is_everyday
from vaults.index.unspaced_scripts import RUN
from vaults.search.candidate_texts import MAX_TEXT
from vaults.search.interpretation import capitalized_words
from vaults.search.joined_texts import find_terms
from vaults.search.languages import grammar
from vaults.search.question import InterpretedQuestion
from vaults.search.stopwords import STOPWORDS

MAX_WORDS = 24
"""Words looked for at most: those of a pasted page say what it is about long before its end."""

MAX_READ = 2_000
"""Characters of a question that are looked through for names."""

PRIOR_PASSAGES = 50
"""What general knowledge of a word's rarity counts for, in passages: everything in a vault of three, nothing in one of
ten thousand."""

EVERYDAY_SHARE, RARE_SHARE = 0.04, 0.002
"""Share of texts that hold an everyday word of English, and any other."""

MAX_PAIRS = 24
"""Pairs of characters looked for, in scripts without spaces."""

_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class QuestionWord:
    """One word in all its forms: the numbers these have among ``QuestionWords.forms``. ``weight``: its information, in
    nats. ``held``: a shared passage of the vault has it. ``name``: it is written as one."""

    weight: float
    marks: frozenset[int]
    held: bool
    name: bool

    def is_unknown(self, found: Set[int]) -> bool:
        """Whether neither the vault nor what was found has it."""
        return not self.held and self.marks.isdisjoint(found)


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """The words of a question. ``forms`` is what texts are searched for."""

    forms: tuple[str, ...]
    words: tuple[QuestionWord, ...]
    weight: float = 0.0  # of all words together

    def unknown(self, found: Set[int] = frozenset()) -> float:
        """The share of the weight, 0…1, that lies on words no passage holds, and none of the forms ``found``: what is
        private to the reader is in no vocabulary."""
        return self._share([word for word in self.words if word.is_unknown(found)])

    def strange(self, found: Set[int] = frozenset()) -> float:
        """The same of names: other words may be said in others, names rarely."""
        return self._share([word for word in self.words if word.name and word.is_unknown(found)])

    def find_in(self, texts: Sequence[str]) -> list[set[int]]:
        """The numbers of the forms that each of ``texts`` holds."""
        return find_terms(texts, self.forms) if self.words else [set() for _ in texts]

    def share_of(self, found: Set[int]) -> float:
        """The share of the weight, 0…1, that lies on words any form of which is among ``found``."""
        return self._share([word for word in self.words if not word.marks.isdisjoint(found)]) if found else 0.0

    def share_in(self, texts: Iterable[str]) -> float:
        """The share of the weight, 0…1, that lies on words any of ``texts`` holds."""
        return self.share_of(set().union(*self.find_in([text[:MAX_TEXT] for text in texts])))

    def _share(self, some: Sequence[QuestionWord]) -> float:
        return sum(word.weight for word in some) / self.weight if some else 0.0


def weigh_words(meant: InterpretedQuestion) -> QuestionWords:
    """The words of a question as the vault knows them. A word weighs by its rarity (idf) among the shared passages,
    mixed with what is known of it without any vault, which is all there is to go by where there are few passages."""
    query = meant.query
    if all(term in STOPWORDS for term in query.terms):
        return QuestionWords((), ())
    names = _find_names(query.text)
    several = {form: group for group in query.groups for form in group}
    for typed, taken_for in meant.slips.items():
        several[typed] = several[taken_for.lower()] = (typed, taken_for.lower())
    units = list(dict.fromkeys(several.get(term, (term,)) for term in query.terms))[:MAX_WORDS]
    units = [unit for each in units for unit in _split_unspaced(each)]
    forms = tuple(dict.fromkeys(form for unit in units for form in unit))
    words = []
    numbers = dict(zip(forms, find_terms(forms, forms), strict=True))
    for unit in units:
        marks = frozenset().union(*(numbers[form] for form in unit))
        known = [meant.shares[form] for form in unit if form in meant.shares]
        share = max(known, default=0.0)
        held = share > 0 or not known
        if marks:
            weight = _weigh(unit[0], share, meant.passages)
            words.append(QuestionWord(weight, marks, held, name=not names.isdisjoint(unit)))
    return QuestionWords(forms, tuple(words), sum(word.weight for word in words))


def _find_names(text: str) -> frozenset[str]:
    """What is written with a capital, where that tells a name from other words: not in German, nor in a headline."""
    words = _WORD.findall(text[:MAX_READ])
    if not any(word[0].islower() for word in words[1:]):
        return frozenset()
    spoken = grammar.weigh_languages([word.lower() for word in words])
    if spoken.get(grammar.ENGLISH, 0.0) < max(spoken.values(), default=0.0):
        return frozenset()
    return frozenset(capitalized_words(text)) - STOPWORDS


def _weigh(word: str, share: float, passages: int) -> float:
    usual = EVERYDAY_SHARE if is_everyday(word) else RARE_SHARE
    mixed = (share * passages + usual * PRIOR_PASSAGES + 0.5) / (passages + PRIOR_PASSAGES + 1)
    return -math.log(min(mixed, 0.9))


def _split_unspaced(unit: tuple[str, ...]) -> list[tuple[str, ...]]:
    """A run of a script without spaces is a sentence: it counts by its pairs of characters."""
    if len(unit) > 1 or not RUN.fullmatch(unit[0]) or len(unit[0]) < 3:
        return [unit]
    run = unit[0][: MAX_PAIRS + 1]
    return [(run[at : at + 2],) for at in range(len(run) - 1)]
