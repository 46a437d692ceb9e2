"""The weights of the last stage of ranking: ``ranking_weights.toml``, which says what they were fitted on.

They are in units of the joint score of both channels: a feature that is 1 instead of 0 moves a candidate by its weight.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from vaults.errors import IndexUnavailable
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
    return parse_weights((files("vaults.search") / FILE).read_text(encoding="utf-8"))


def parse_weights(text: str) -> RankingWeights:
    """Weights as the file has them: every feature once, each a number of reasonable size. Raises ``IndexUnavailable``,
    which names the entry."""
    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError as failure:
        raise _broken(f"is not valid TOML: {failure}") from failure
    provenance, weights = parsed.get("provenance"), parsed.get("weights")
    if not isinstance(provenance, dict) or not isinstance(weights, dict):
        raise _broken("needs the sections provenance and weights")
    _check_names("weights", weights, FEATURES)
    for group, names in FEATURES.items():
        _check_names(f"weights.{group}", weights[group], names)
    values = tuple(_check_weight(f"{group}.{name}", weights[group][name]) for group, name in NAMES)
    return RankingWeights(values, provenance)


def _check_names(section: str, given: Any, wanted: Any) -> None:
    if not isinstance(given, dict):
        raise _broken(f"{section} is not a section")
    if set(given) != set(wanted):
        odd = ", ".join(sorted(set(given) ^ set(wanted)))
        raise _broken(f"{section} does not have the entries of this version: {odd}")


def _check_weight(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _broken(f"{name} is not a number")
    if abs(value) > HEAVIEST:
        raise _broken(f"{name} is {value}: more than {HEAVIEST} is no fitted weight")
    return float(value)


def _broken(reason: str) -> IndexUnavailable:
    """No fault of who searches: the installation is not as it came."""
    return IndexUnavailable(f"{FILE} {reason}", hint=f"install the program anew, or fit the weights again: {FIT_BY}")
