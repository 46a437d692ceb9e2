"""Fitting a linear order: the listwise softmax of ListNet (Cao et al., ICML 2007) over each question's candidates, with
a ridge. Convex, so Newton's method finds the one best answer in a few steps, the same every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

STEPS, ENOUGH = 60, 1e-9
"""Steps at most, and the gain of one that ends it."""


@dataclass(frozen=True, slots=True)
class JudgedList:
    """The candidates of a question: ``columns`` with a row for each, 1 in ``answers`` where it answers, and how much
    the question ``counts``."""

    columns: Floats
    answers: Floats
    counts: float = 1.0


def fit_order(lists: Sequence[JudgedList], ridge: Floats) -> Floats:
    """The weight of each column. ``ridge``: what each weight costs, by its square. Lists in which all or none answer
    teach nothing and are passed over."""
    stacked = _Stacked.of_lists([each for each in lists if 0 < each.answers.sum() < len(each.answers)])
    weights = np.zeros(len(ridge))
    loss, slope, bend = stacked.differentiate(weights, ridge)
    for _ in range(STEPS):
        step, size = np.linalg.solve(bend, slope), 1.0
        new = stacked.differentiate(weights - step, ridge)
        while new[0] > loss and size > ENOUGH:
            size /= 2
            new = stacked.differentiate(weights - size * step, ridge)
        gain, weights = loss - new[0], weights - size * step
        loss, slope, bend = new
        if gain < ENOUGH:
            break
    return weights


@dataclass(frozen=True, slots=True)
class _Stacked:
    """All lists in one matrix. ``starts`` of each; ``of``: the list of each row; ``wanted`` and ``share`` sum to 1."""

    columns: Floats
    wanted: Floats
    starts: NDArray[np.int64]
    of: NDArray[np.int64]
    share: Floats

    @classmethod
    def of_lists(cls, lists: Sequence[JudgedList]) -> _Stacked:
        lengths = [len(each.answers) for each in lists]
        share = np.array([each.counts for each in lists])
        return cls(
            np.vstack([each.columns for each in lists]),
            np.concatenate([each.answers / each.answers.sum() for each in lists]),
            np.cumsum([0, *lengths[:-1]]),
            np.repeat(np.arange(len(lists)), lengths),
            share / share.sum(),
        )

    def differentiate(self, weights: Floats, ridge: Floats) -> tuple[float, Floats, Floats]:
        """The loss, its gradient and its Hessian."""
        scores = self.columns @ weights
        scores -= np.maximum.reduceat(scores, self.starts)[self.of]
        grown = np.exp(scores)
        whole = np.add.reduceat(grown, self.starts)
        chances, rows = grown / whole[self.of], self.share[self.of]
        lost = np.log(whole) - np.add.reduceat(self.wanted * scores, self.starts)
        means = np.add.reduceat(self.columns * chances[:, None], self.starts)
        slope = self.columns.T @ (rows * (chances - self.wanted))
        spread = (self.columns * (rows * chances)[:, None]).T @ self.columns
        bend = spread - (means * self.share[:, None]).T @ means
        return (
            float(self.share @ lost + ridge @ weights**2 / 2),
            slope + ridge * weights,
            bend + np.diag(ridge + 1e-9),
        )
