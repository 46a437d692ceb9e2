"""The last stage of ranking: what a fitted linear model adds to the first hundred candidates, by group of features.

Linear, because boosted trees on the same features found no more in conversations they had not seen, and because a sum
can be shown. What each group adds is counted from the candidate it likes least, so that no candidate falls below those
the stage did not look at.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from vaults.search.lifts import Lift
from vaults.search.ranking_features import FEATURES, CandidateFeatures
from vaults.search.ranking_weights import RankingWeights

if TYPE_CHECKING:
    from vaults.index.flat_vectors import Floats
    from vaults.search.lifts import KnownFacts

DIGITS = 6
"""Digits of a lift: sums over other processors differ beyond, and an order must not."""


def lift_learned(
    features: CandidateFeatures, known: KnownFacts, weights: RankingWeights, share: float, without: Collection[str] = ()
) -> dict[str, Lift]:
    """The lift of each group, 0 and up, times ``share``. Groups that say the same of all candidates are left out; what
    gives its reader orders gets none."""
    import numpy as np

    if len(features.passages) < 2 or not share:
        return {}
    parts = features.matrix * np.array(weights.values)
    earning = np.array([not known[passage].adversarial for passage in features.passages])
    lifts: dict[str, Lift] = {}
    for group in FEATURES:
        if group in without:
            continue
        columns = [column for column, (of, _) in enumerate(features.names) if of == group]
        added = _from_least(parts[:, columns].sum(axis=1)) * share
        if added.any():
            lifts[group] = dict(zip(features.passages, (added * earning).round(DIGITS).tolist(), strict=True))
    return lifts


def _from_least(values: Floats) -> Floats:
    return values - values.min()
