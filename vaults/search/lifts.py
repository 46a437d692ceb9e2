"""What moves a candidate besides its words and its meaning. Each is a pure function from facts to additions."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import TypeAlias

from vaults.index.items import name_words
from vaults.index.passages import ADVERSARIAL, QUESTION
from vaults.search.passage_facts import PassageFacts
from vaults.search.stopwords import STOPWORDS

KnownFacts: TypeAlias = Mapping[int, PassageFacts]
Lift: TypeAlias = dict[int, float]
"""Passage to what is added to its joint score."""

SECONDS_A_DAY = 86_400


def lift_named(known: KnownFacts, names: Collection[str], weight: float) -> Lift:
    """Up: who said it, or whom it is about, is named in the question."""
    if not names:
        return {}
    return {passage: weight for passage, facts in known.items() if facts.author in names or facts.entity in names}


def lower_questions(known: KnownFacts, weight: float) -> Lift:
    """Down: the passage asks, and so does not answer."""
    return {passage: -weight for passage, facts in known.items() if facts.traits & QUESTION}


def lower_adversarial(known: KnownFacts, weight: float) -> Lift:
    """Down: the passage tells its reader what to do."""
    return {passage: -weight for passage, facts in known.items() if facts.traits & ADVERSARIAL}


def lift_thread(known: KnownFacts, words: Collection[str], weight: float) -> Lift:
    """Up: all words of its thread's name, stop words aside, stand in the question."""
    asked = set(words)
    matches = {name: _stands_in(name, asked) for name in {facts.thread for facts in known.values()} if name}
    return {passage: weight for passage, facts in known.items() if facts.thread and matches[facts.thread]}


def _stands_in(name: str, words: set[str]) -> bool:
    parts = set((name_words(name) or "").split())
    telling = parts - STOPWORDS or parts
    return bool(telling) and telling <= words


def lift_recent(known: KnownFacts, now: str, weight: float, days: float) -> Lift:
    """Up: what happened lately, by ``weight`` at no age and ``weight / e`` after ``days``."""
    moment = datetime.fromisoformat(now)
    return {passage: weight * math.exp(-_age(facts.at, moment) / days) for passage, facts in known.items()}


def _age(at: str, now: datetime) -> float:
    return max(0.0, (now - datetime.fromisoformat(at)).total_seconds() / SECONDS_A_DAY)
