"""The weights that make one number of the evidence for a hit, from ``relevance_weights.toml`` beside this file.

They are fitted by ``python -m bench.quality.calibration_fit``. A digest in the file tells whether it is as it was
fitted: a weight changed by hand would silence answers, or none, and nobody would see why.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
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


FEATURES = (
    "cosine",
    "cosine_with_words",
    "cosine_without_words",
    "cosine_among_many",
    "among_many",
    "cosine_in_sequence",
    "in_sequence",
    "own_words",
    "words_around",
    "unknown_words",
    "unknown_names",
    "any_unknown_name",
    "unknown_names_among_many",
    "length",
    "length_with_words",
)
"""What is weighed, by its name in the file."""


def measure_evidence(each: RelevanceEvidence) -> tuple[float, ...]:
    """A figure for each of ``FEATURES``."""
    cosine, own, around, strange = each.cosine, each.own, each.around, each.strange
    # A word missing from five notes says nothing, and the nearest of five is rarely near by chance.
    size = math.log10(each.passages + 1) / 4
    length = min(each.words, TELLING_WORDS) / TELLING_WORDS
    return (
        cosine,
        cosine * own,
        cosine * (1 - around),
        cosine * size,
        size,
        cosine * each.sequence,
        float(each.sequence),
        own,
        around,
        each.unknown * size,
        strange,
        float(strange > 0),
        strange * size,
        length,
        length * around,
    )


@dataclass(frozen=True, slots=True)
class Calibration:
    """A fitted model. ``weights``: places in ``FEATURES``, each with its weight. ``fits``: it was fitted to what the
    evidence comes from; otherwise its probabilities order hits, and no threshold is to be held against them."""

    bias: float
    weights: tuple[tuple[int, float], ...]
    fits: bool = True

    def probability(self, each: RelevanceEvidence) -> float:
        """How likely a hit is an answer, 0…1."""
        figures = measure_evidence(each)
        return 1 / (1 + math.exp(-self.bias - sum([weight * figures[place] for place, weight in self.weights])))


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
    if unknown := section.weights.keys() - set(FEATURES):
        raise broken_file(file.name, f"weighs what nobody measures: {', '.join(sorted(unknown))}", FIT_BY)
    return Calibration(section.bias, tuple((FEATURES.index(name), weight) for name, weight in section.weights.items()))
