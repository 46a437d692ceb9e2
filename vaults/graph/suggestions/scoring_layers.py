"""The layers that score a candidate, with all their numbers.

The points were fitted by logistic regression on notes whose links were removed (``bench/quality/linking.py``; none of
them is among those it is judged on) and rounded. Where a vault of files tells nothing about a layer (recency, feedback,
what was used together), they are small and chosen by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from vaults.graph.entity_vectors import MIN_COSINE
from vaults.graph.names.lexicon import MatchKind
from vaults.graph.suggestions.evidence import POINTS_PER_LOG_ODDS, LinkEvidence, MentionEvidence

Strictness: TypeAlias = Literal["conservative", "balanced", "aggressive"]


@dataclass(frozen=True, slots=True)
class StrictnessLevel:
    """How sure a suggestion must be: the total points that a note needs if it is named and if it is not, and how
    similar the words must be to its name."""

    named: float
    related: float
    alike: float


STRICTNESS_LEVELS: Mapping[Strictness, StrictnessLevel] = {
    "conservative": StrictnessLevel(named=1.0, related=9.0, alike=0.90),
    "balanced": StrictnessLevel(named=-3.0, related=7.5, alike=0.85),
    "aggressive": StrictnessLevel(named=-9.0, related=5.0, alike=0.80),
}


def exact(evidence: LinkEvidence) -> float:
    """Named in the exact words of the name."""
    mention = evidence.mention
    if mention is None or mention.kind != "exact":
        return 0.0
    return _score_name(mention)


def stem(evidence: LinkEvidence) -> float:
    """Named in another form of the words: plural, gerund."""
    mention = evidence.mention
    return _score_name(mention) + STEM if mention is not None and mention.kind == "stem" else 0.0


def fuzzy(evidence: LinkEvidence) -> float:
    """Named with slips, or with words joined or split."""
    mention = evidence.mention
    if mention is None or mention.kind not in ("fuzzy", "collapsed"):
        return 0.0
    return _score_name(mention) + (COLLAPSED if mention.kind == "collapsed" else SLIP - PER_SLIP * (1 - mention.alike))


def _score_name(mention: MentionEvidence) -> float:
    spelled = SPELLED if mention.spelled else 0.0
    return NAMED + spelled + WORD * min(mention.words - 1, 3) - NAMESAKES * math.log(mention.namesakes)


NAMED, SPELLED, STEM, COLLAPSED, SLIP = -23.0, 8.0, 1.0, 0.0, -3.0
"""Points for being named (few mentions are links), and for how."""

PER_SLIP, WORD, NAMESAKES = 20.0, 1.0, 1.3
"""Points lost per unit of dissimilarity, won per further word, and lost per unit of log namesakes."""


def habit(evidence: LinkEvidence) -> float:
    """How often it is linked elsewhere where it is named (keyphraseness)."""
    return 4.0 * evidence.habit if evidence.mention is not None else 0.0


def kind(evidence: LinkEvidence) -> float:
    """Of a category that is linked more often than others."""
    return 1.0 * evidence.category if evidence.mention is not None else 0.0


def cooccurrence(evidence: LinkEvidence) -> float:
    """Linked by the same notes as others that this text links or surely names."""
    return (5.5 if evidence.mention is None else 7.5) * evidence.company


def context(evidence: LinkEvidence) -> float:
    """Where the words stand, and where the notes lie."""
    mention = evidence.mention
    if mention is None:
        return 0.0
    points = 5.5 * evidence.same_folder + 5.0 * evidence.kin
    points += 3.0 * mention.capital + 6.0 * mention.alone + 6.0 * mention.item + 3.0 * mention.pointed
    return points + 2.5 * max(-1.5, min(1.5, math.log(max(mention.density, 0.01) / USUAL)))


USUAL = 6.0
"""Usual number of notes named in 1,000 characters."""


def recency(evidence: LinkEvidence) -> float:
    """Changed recently, with a half-life of seven days."""
    return 0.0 if evidence.days is None else math.pow(0.5, max(evidence.days, 0.0) / 7)


def hub(evidence: LinkEvidence) -> float:
    """Linked by many, or by none yet: then nobody has decided about its name. The number of links tells as much as the
    note's centrality, which adds nothing to it."""
    if evidence.mention is None:
        return 0.0
    return 2.0 * math.log1p(min(evidence.linked, 1000)) if evidence.linked else 6.0


def feedback(evidence: LinkEvidence) -> float:
    """What became of such links before."""
    return evidence.feedback


def semantic(evidence: LinkEvidence) -> float:
    """About something similar."""
    return 14.0 * max(0.0, evidence.likeness - MIN_COSINE)


def edge(evidence: LinkEvidence) -> float:
    """Links to this note, or is used together with it."""
    return 2.5 * evidence.backlink + min(4.0, 2.0 * math.log1p(evidence.pair))


LAYERS: Mapping[str, Callable[[LinkEvidence], float]] = {
    "exact": exact,
    "stem": stem,
    "fuzzy": fuzzy,
    "habit": habit,
    "cooccurrence": cooccurrence,
    "type": kind,
    "context": context,
    "recency": recency,
    "hub": hub,
    "feedback": feedback,
    "semantic": semantic,
    "edge": edge,
}


LAYER_OF_MATCH: Mapping[MatchKind, str] = {"exact": "exact", "stem": "stem", "collapsed": "fuzzy", "fuzzy": "fuzzy"}
"""The layer that scores each kind of match."""


def score_layers(evidence: LinkEvidence, without: frozenset[str] = frozenset()) -> dict[str, float] | None:
    """Points by layer, rounded to tenths; layers that give none are left out. None if the layer that finds the name is
    disabled (``without``): then the candidate is not seen at all."""
    if evidence.mention is not None and LAYER_OF_MATCH[evidence.mention.kind] in without:
        return None
    found = {name: round(layer(evidence), 1) for name, layer in LAYERS.items() if name not in without}
    return {name: each for name, each in found.items() if each}


def to_confidence(score: float, *, named: bool) -> float:
    """What a score means, 0…1, as measured: how likely a named note is linked by hand; for one that is not named, how
    likely either note links the other."""
    odds = score / POINTS_PER_LOG_ODDS if named else (score - EVEN) / SLOPE
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, odds))))


EVEN, SLOPE = 8.0, 2.0
"""Score at which half of the unnamed notes are linked, and points per unit of log odds there."""
