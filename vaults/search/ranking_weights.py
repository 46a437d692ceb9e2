"""The weights of the last stage of ranking: ``ranking_weights.toml``, which says what they were fitted on.

They are in units of the joint score of both channels: a feature that is 1 instead of 0 moves a candidate by its weight.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Any

from pydantic import Field

from vaults.search.fitted_weights import FittedFile, broken_file, parse_fitted, read_fitted
from vaults.search.ranking_features import FEATURES, NAMES

FILE = "ranking_weights.toml"
FIT_BY = "python -m bench.quality.fit_ranking --write"

HEAVIEST = 2.0
"""A weight beyond this is no fit: it would decide alone."""


@dataclass(frozen=True, slots=True)
class RankingWeights:
    """``values``: a weight for each column of ``ranking_features.NAMES``. ``provenance``: what they were fitted on."""

    values: tuple[float, ...]
    provenance: Mapping[str, Any]

    def of(self, group: str) -> dict[str, float]:
        """The weights of a group, by feature."""
        return {name: value for (of, name), value in zip(NAMES, self.values, strict=True) if of == group}


@cache
def read_weights() -> RankingWeights:
    """The weights that come with the program, read once. Raises ``IndexUnavailable`` where the file was changed into
    something else."""
    return parse_weights(read_fitted(files("vaults.search") / FILE, FIT_BY))


class _File(FittedFile):
    provenance: dict[str, Any]
    weights: dict[str, dict[str, Annotated[float, Field(ge=-HEAVIEST, le=HEAVIEST, allow_inf_nan=False)]]]


def parse_weights(text: str) -> RankingWeights:
    """Weights as the file has them: every feature once, each a number of reasonable size. Raises ``IndexUnavailable``,
    which names the entry."""
    read = parse_fitted(FILE, text, _File, FIT_BY)
    _check_names("weights", read.weights, FEATURES)
    for group, names in FEATURES.items():
        _check_names(f"weights.{group}", read.weights[group], names)
    return RankingWeights(tuple(read.weights[group][name] for group, name in NAMES), read.provenance)


def _check_names(section: str, given: Collection[str], wanted: Collection[str]) -> None:
    if odd := ", ".join(sorted(set(given) ^ set(wanted))):
        raise broken_file(FILE, f"{section} does not have the entries of this version: {odd}", FIT_BY)
