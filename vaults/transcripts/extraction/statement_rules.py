"""The shape of a rule that takes one sentence for a statement of a kind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from vaults.transcripts.extraction.extracted_memory import ExtractionKind
from vaults.transcripts.extraction.spoken_text import SpokenSentence

Speaker: TypeAlias = Literal["user", "agent", "thinking"]

CITED = re.compile(
    r"\b(?:says?|said|sagt|according to|laut dem|wrote|writes|told me|the (?:readme|docs?|page|issue|comment|file"
    r"|reviewer)"
    r" (?:wants?|asks?)|from memory|as (?:noted|recorded|remembered)|remember that the user|the user (?:prefers?"
    r"|wants?|has|is)"
    r"|what (?:if|would)|would (?:it|we|you|that)|suppose|imagine|hypothetical|if we (?:always|never)|was wäre"
    r"|ignore (?:all |any )?(?:previous|prior)|vergiss alle)\b"
)
"""Sentences that cite, repeat what was remembered, play with a thought, or try to order a reader about."""


@dataclass(frozen=True, slots=True)
class StatementRule:
    """``pattern`` in the sentence in lower case; ``unless``: a pattern that takes it back; ``cues``: texts of"
    " which one
    is in every sentence that matches, which is cheaper to look for; ``is_reply``: it settles something only in reply to
    the agent, since the same words at the beginning are a task; ``is_lasting``: it holds among the requirements of
    a task, too; ``precision``: on the development half of the judged
    conversations, (right + 1) / (found + 2), at most .95."""

    name: str
    kind: ExtractionKind
    pattern: re.Pattern[str]
    words: frozenset[str]
    precision: float
    speakers: tuple[Speaker, ...] = ("user",)
    unless: re.Pattern[str] | None = None
    is_reply: bool = False
    is_lasting: bool = False

    def fits(self, sentence: SpokenSentence) -> bool:
        """Whether the sentence is such a statement."""
        if self.words.isdisjoint(sentence.words):
            return False
        plain = sentence.plain
        return self.pattern.search(plain) is not None and not (self.unless and self.unless.search(plain))


def rules_for(speaker: Speaker, *rules: StatementRule) -> tuple[StatementRule, ...]:
    """Those rules that a speaker is listened to with."""
    return tuple(rule for rule in rules if speaker in rule.speakers)


def match_rule(rules: Sequence[StatementRule], sentence: SpokenSentence) -> StatementRule | None:
    """The first rule that fits; none does for a question or for what is only cited."""
    if sentence.is_question:
        return None
    for rule in rules:
        if rule.fits(sentence):
            return None if CITED.search(sentence.plain) else rule
    return None
