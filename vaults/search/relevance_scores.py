"""What speaks for a hit, and the scores made of it. Values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RelevanceEvidence:
    """Of one hit. ``cosine``: with the question's vector, neighbours mixed in, 0…1. ``own``: the share of the
    question's information, 0…1, that its own text holds, its title, labels, author and entity included; ``around``: the
    same with the text before and after. ``unknown``: the share that lies on words the vault lacks, ``strange``: on
    names it lacks. ``words``: how many words of the question tell anything. ``passages``: how many there are to choose
    from. ``sequence``: it stands in one, so that its cosine is mixed of more than itself."""

    cosine: float
    own: float
    around: float
    unknown: float
    strange: float
    words: int
    passages: int
    sequence: bool = False


BESIDE_SHARE = 0.5
"""Share of the threshold from which a hit is worth reading beside one that reaches it. The threshold asks whether the
vault answers at all; where it does, evidence often stands in hits that would not have told by themselves."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """The relevance of the first hits of a ranking. ``likely``: from where one is a likely answer. ``settled``: every
    hit is what was asked for, however it scores, as what operators require, or what is like an item."""

    scores: Mapping[int, float] = field(default_factory=dict)
    evidence: Mapping[int, RelevanceEvidence] = field(default_factory=dict)
    likely: float = 0.0
    settled: bool = True

    def of(self, passage: int) -> float:
        """The score of a hit's passage; of one further down than was looked, that of the last."""
        return self.scores.get(passage, min(self.scores.values(), default=0.0))

    def is_likely(self, passage: int) -> bool:
        """Whether a hit is likely to answer."""
        return self.settled or self.of(passage) >= self.likely

    def belongs_beside(self, passage: int) -> bool:
        """Whether a hit is worth reading beside one that is likely to answer (``BESIDE_SHARE``)."""
        return self.settled or self.of(passage) >= self.likely * BESIDE_SHARE

    @property
    def has_likely(self) -> bool:
        """Whether any hit is likely to answer; where there is none there is nothing to doubt."""
        return not self.scores or any(map(self.is_likely, self.scores))


NOT_JUDGED = Relevance()
