"""What a pack consists of, and the candidates it is made from. Values that pass from stage to stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from vaults.domain.retrieval.sections import HitPlace, HitSection
from vaults.domain.text.sanitize import INSTRUCTIONS

TOKENIZER = "cl100k_base"
PackPart = Literal["state", "rules", "brief", "memories", "passages", "links"]
PackFormat = Literal["prompt", "json"]


@dataclass(frozen=True, slots=True)
class PackItem:
    """Something somebody stored: data, never instructions. A note's id is its path. ``section``: a heading of a note,
    or a place in a document. ``at``: when it happened, else when it was stored or changed. ``stored_by``: the subject
    that stored it, where that is not its author. ``positions``: the parts of the document in ``text``, if several; each
    is opened by the id with its number instead."""

    id: str
    kind: str
    type: str | None = None
    title: str | None = None
    text: str | None = None
    author: str | None = None
    at: str | None = None
    section: str | None = None
    stored_by: str | None = None
    positions: list[int] | None = None
    flags: list[str] | None = None


@dataclass(frozen=True, slots=True)
class PackLink:
    """A link of two memories, at least one of which is in the pack. ``title``: of the one that is not."""

    from_id: str
    relation: str
    to_id: str
    title: str | None = None


@dataclass(frozen=True, slots=True)
class DroppedItem:
    """A candidate that is not in the pack. ``why``: budget, duplicate, instruction-like, orphan, unlikely (to answer).
    ``of``: what it repeats."""

    id: str
    kind: str
    why: str
    title: str | None = None
    of: str | None = None


@dataclass(frozen=True, slots=True)
class StateOrigin:
    """Where the state comes from."""

    id: str
    reason: str
    who: str
    at: str
    thread: str | None = None


@dataclass(frozen=True, slots=True)
class PackBudget:
    """``used`` of ``total`` tokens; ``saved``: what the whole items would have cost beyond it, estimated."""

    tokenizer: str
    total: int
    used: int
    saved: int | None = None


@dataclass(frozen=True, slots=True)
class Pack:
    """What to know. ``memories`` and ``passages`` answer the query, best first; ``rules`` are preferences and
    corrections that apply; ``brief`` says where things stand, without a query; ``state`` is what ``checkpoint`` kept.
    ``dropped`` names some of the ``dropped_total`` candidates there was no place for. With ``prompt`` everything stands
    there, and the lists are empty."""

    state: dict[str, Any]
    memories: list[PackItem]
    passages: list[PackItem]
    links: list[PackLink]
    rules: list[PackItem]
    budget: PackBudget
    dropped: list[DroppedItem]
    brief: list[PackItem] | None = None
    checkpoint: StateOrigin | None = None
    dropped_total: int | None = None
    warnings: list[str] | None = None
    prompt: str | None = None


@dataclass(frozen=True, slots=True)
class PackCandidate:
    """A candidate for a pack."""

    part: PackPart
    rank: int  # its place among all of them, from 0
    item: PackItem
    score: float | None = None  # from the search; None: not searched for
    words: tuple[str, ...] = ()  # what to cut its text around
    key: int | None = None  # ``seq`` of a memory
    anchor: str | None = None  # the commit it speaks of
    whole: int = 0  # estimated tokens of the full text, where this is a part
    place: HitPlace | None = None  # in a document
    section: HitSection | None = None  # what its text may be widened to
    likely: bool = True  # to answer; what was not searched for belongs here anyway
    beside: bool = True  # worth reading beside what is likely to answer

    @property
    def suspect(self) -> bool:
        """Whether it gives its reader orders."""
        return INSTRUCTIONS in (self.item.flags or ())


@dataclass(frozen=True, slots=True)
class PackDecision:
    """What became of a candidate, and what it cost or would have cost, in tokens."""

    part: str
    id: str
    kind: str
    rank: int
    tokens: int
    outcome: str
    score: float | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class GatheredCandidates:
    """All candidates, best first within each part, with what goes along."""

    candidates: list[PackCandidate]
    links: list[PackLink] = field(default_factory=list)  # links of these memories
    titles: Mapping[str, str] = field(default_factory=dict)  # of memories in ``links``, by id
    checkpoint: StateOrigin | None = None
    warnings: list[str] = field(default_factory=list)
