"""Writing ``ranking_weights.toml``: weights by group, and what they were fitted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.run import ROOT
from vaults.search.ranking_features import FEATURES, NAMES
from vaults.search.ranking_weights import FILE, FIT_BY, parse_weights

PLACE = ROOT / "vaults" / "search" / FILE

_HEAD = """\
# The last stage of ranking (vaults/search/learned_lifts.py): what a feature that is 1 instead of 0 adds to the joint
# score of a candidate. Fitted, not set by hand: `{command}`
# writes this file. docs/search.md says what the features are.
"""


def write_weights(values: Sequence[float], questions: Mapping[str, int], folds: int, made: str, to: Path) -> None:
    """Write the file, after making sure that it can be read. ``questions``: of each set; ``made``: a date."""
    text = format_weights(values, questions, folds, made)
    parse_weights(text)
    to.write_text(text, encoding="utf-8")


def format_weights(values: Sequence[float], questions: Mapping[str, int], folds: int, made: str) -> str:
    """The file's text."""
    lines = [_HEAD.format(command=FIT_BY), "[provenance]"]
    lines += [f'command = "{FIT_BY}"', f"date = {made}", f"folds = {folds}"]
    lines += ["", "[provenance.questions]", *(f"{name} = {number}" for name, number in questions.items())]
    told = dict(zip(NAMES, values, strict=True))
    for group, names in FEATURES.items():
        lines += ["", f"[weights.{group}]", *(f"{name} = {told[group, name]}" for name in names)]
    return "\n".join(lines) + "\n"
