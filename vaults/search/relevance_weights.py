"""The weights that make one number of the evidence for a hit, from ``relevance_weights.toml`` beside this file.

They are fitted by ``python -m bench.quality.calibration_fit``. A digest in the file tells whether it is as it was
fitted: a weight changed by hand would silence answers, or none, and nobody would see why.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from vaults.search.fitted_weights import FittedFile, broken_file, parse_fitted, read_fitted
from vaults.search.relevance_scores import RelevanceEvidence

FILE = Path(__file__).with_name("relevance_weights.toml")
FIT_BY = "python -m bench.quality.calibration_fit"

TELLING_WORDS = 8
"""Words of a question from which on more of them tell no more."""


def _size(each: RelevanceEvidence) -> float:
    """A word missing from five notes says nothing, and the nearest of five is rarely near by chance."""
    return math.log10(each.passages + 1) / 4


def _length(each: RelevanceEvidence) -> float:
    return min(each.words, TELLING_WORDS) / TELLING_WORDS


FEATURES: Mapping[str, Callable[[RelevanceEvidence], float]] = {
    "cosine": lambda each: each.cosine,
    "cosine_with_words": lambda each: each.cosine * each.own,
    "cosine_without_words": lambda each: each.cosine * (1 - each.around),
    "cosine_among_many": lambda each: each.cosine * _size(each),
    "among_many": _size,
    "cosine_in_sequence": lambda each: each.cosine * each.sequence,
    "in_sequence": lambda each: float(each.sequence),
    "own_words": lambda each: each.own,
    "words_around": lambda each: each.around,
    "unknown_words": lambda each: each.unknown * _size(each),
    "unknown_names": lambda each: each.strange,
    "any_unknown_name": lambda each: float(each.strange > 0),
    "unknown_names_among_many": lambda each: each.strange * _size(each),
    "length": _length,
    "length_with_words": lambda each: _length(each) * each.around,
}
"""What is weighed, by its name in the file."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A fitted model. ``fits``: it was fitted to what the evidence comes from; otherwise its probabilities order hits,
    and no threshold is to be held against them."""

    bias: float
    weights: tuple[tuple[Callable[[RelevanceEvidence], float], float], ...]
    fits: bool = True

    def probability(self, each: RelevanceEvidence) -> float:
        """How likely a hit is an answer, 0…1."""
        return 1 / (1 + math.exp(-self.bias - sum(weight * of(each) for of, weight in self.weights)))


@dataclass(frozen=True, slots=True)
class RelevanceWeights:
    """One calibration with vectors of the model it was fitted with, one without vectors."""

    model: str
    hybrid: Calibration
    keyword: Calibration

    def choose(self, model: str | None, *, by_meaning: bool) -> Calibration:
        """The calibration for an answer: ``model`` names the one its vectors are of. Cosines of another model mean
        other things: they are taken as they are, and hold nothing back."""
        if not by_meaning:
            return self.keyword
        return self.hybrid if model == self.model else Calibration(self.hybrid.bias, self.hybrid.weights, fits=False)


class _Section(FittedFile):
    bias: Annotated[float, Field(ge=-50, le=50, allow_inf_nan=False)]
    weights: dict[str, Annotated[float, Field(ge=-50, le=50, allow_inf_nan=False)]]


class _File(FittedFile):
    model: str
    fitted: str
    digest: str
    hybrid: _Section
    keyword: _Section


@cache
def load_weights(file: Path = FILE) -> RelevanceWeights:
    """The weights. Raises ``IndexUnavailable`` for a file that is not as it was fitted."""
    read = parse_fitted(file.name, read_fitted(file, FIT_BY), _File, FIT_BY)
    if digest_of(read.model_dump(exclude_unset=True)) != read.digest:
        raise broken_file(file.name, "is not as it was fitted", FIT_BY)
    return RelevanceWeights(read.model, _to_calibration(file, read.hybrid), _to_calibration(file, read.keyword))


def digest_of(given: Mapping[str, Any]) -> str:
    """16 hex digits that stand for all of the file but themselves."""
    rest = {name: value for name, value in given.items() if name != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:16]


def _to_calibration(file: Path, section: _Section) -> Calibration:
    if unknown := section.weights.keys() - FEATURES.keys():
        raise broken_file(file.name, f"weighs what nobody measures: {', '.join(sorted(unknown))}", FIT_BY)
    return Calibration(section.bias, tuple((FEATURES[name], weight) for name, weight in section.weights.items()))
