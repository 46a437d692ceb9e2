"""The last stage of ranking: what a fitted linear model adds to the first hundred candidates, by group of features.

It counts as far as these candidates are turns of conversations. Turns are short, lean on what stands around them, and
say when and by whom: most features are about that. Fitted on encyclopaedic texts and manuals beside, the model found no
more in conversations, and less of HotpotQA than the plain sum of both channels.

Linear, because a sum can be shown, and because boosted trees, tried briefly, found no more in conversations they had
not seen. What each group adds is counted from the candidate it likes least, so that no candidate falls below those
the stage did not look at.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import accumulate

from vaults.index.passages import ADVERSARIAL
from vaults.search.lifts import KnownFacts, Lift
from vaults.search.question import SearchRanking
from vaults.search.ranking_features import FEATURES, HEAD, CandidateFeatures
from vaults.search.ranking_weights import RankingWeights

DIGITS = 6
"""Digits of a lift: sums over other processors differ beyond, and an order must not."""


FIRST_COLUMNS = tuple(accumulate((len(names) for names in FEATURES.values()), initial=0))[:-1]
"""The first column of each group."""


TURN_KINDS = frozenset({"memory", "transcript"})
"""Kinds whose passages are turns, where they stand in a sequence and have a parent. Passages of one long memory stand
in a sequence, too, and are none."""


MOSTLY = 0.8
"""Share of turns up to which nothing is learned. Where much else stands among them, the lifts of turns and of other
texts mean different things: a note that shares one word with the question would overtake the memory that answers it."""


def share_of_turns(found: SearchRanking) -> float:
    """How far the first candidates are turns of conversations, 0…1: all of them 1, four of five or fewer 0."""
    first = [found.facts[passage] for passage, _ in found.order[:HEAD]]
    turns = [each for each in first if each.near is not None and each.parent is not None and each.item[0] in TURN_KINDS]
    return max(0.0, len(turns) / max(1, len(first)) - MOSTLY) / (1 - MOSTLY)


def lift_learned(
    features: CandidateFeatures, known: KnownFacts, weights: RankingWeights, share: float, without: Collection[str] = ()
) -> dict[str, Lift]:
    """The lift of each group, 0 and up, times ``share``. Groups that say the same of all candidates are left out; what
    gives its reader orders gets none."""
    import numpy as np

    if len(features.passages) < 2 or not share:
        return {}
    parts = np.add.reduceat(features.matrix * np.array(weights.values), FIRST_COLUMNS, axis=1)
    added = (parts - parts.min(axis=0)) * share
    added[[row for row, passage in enumerate(features.passages) if known[passage].traits & ADVERSARIAL]] = 0.0
    rounded = added.round(DIGITS).T
    tells = rounded.any(axis=1).tolist()
    return {
        group: dict(zip(features.passages, lifted, strict=True))
        for group, lifted, telling in zip(FEATURES, rounded.tolist(), tells, strict=True)
        if telling and group not in without
    }
