"""``python -m bench.quality.calibration_fit``: ask the judged sets, or take rows that ``bench.quality.calibration
--rows`` wrote, fit the weights of relevance to them, say how they do on sets they were not fitted to, and write them
down with ``--write``."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bench.quality import calibration
from bench.quality.calibration_rows import OTHER_PERSON, OWN, AskedVault, area_under_curve, read_rows
from bench.run import OUT
from vaults.search.relevance import WINDOW
from vaults.search.relevance_scores import RelevanceEvidence
from vaults.search.relevance_weights import FEATURES, FILE, digest_of, measure_evidence
from vaults.settings import EmbeddingSettings, SearchSettings

if TYPE_CHECKING:
    import numpy as np

MOST_OF_A_KIND = 150
"""Rows of one set, kind and size from which on more of them weigh no more."""

WORDLESS_SHARE, WORDLESS_COSINE, FEW = 0.35, 0.85, 25
"""Share of the rows that are given again as if question and texts had no word in common; the share of the cosine that
is left of those that answer, because the words they had were part of it; and the texts up to which a vault then knows
none of the words."""

PENALTY, ROUNDS = 1e-3, 7
MOST_SILENCED = 0.05
"""Share of the answerable rows that words alone may leave below the threshold: they miss what is said in other words,
and to keep an answer back is worse than to doubt none."""

BY_MEANING = (
    "cosine",
    "cosine_with_words",
    "cosine_without_words",
    "cosine_among_many",
    "among_many",
    "cosine_in_sequence",
)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.quality.calibration_fit", description=__doc__)
    parser.add_argument("rows", nargs="*", type=Path, help="files of rows; without any the sets are asked")
    parser.add_argument("--only", nargs="+", choices=calibration.SETS, default=calibration.SETS, help="sets to ask")
    parser.add_argument("--out", type=Path, default=OUT / "quality", help="where the sets are stored")
    parser.add_argument("--write", action="store_true", help="write the weights into the package")
    given = parser.parse_args(argv)
    asked = read_rows(given.rows) if given.rows else calibration.ask_sets(given.only, given.out)
    rows = [row for row in asked if row.hits and row.kind != OTHER_PERSON]
    if not rows:
        print("nothing to fit to: the sets are not there")
        return 1
    fitted = {}
    for mode in ("hybrid", "keyword"):
        names = [name for name in FEATURES if mode == "hybrid" or name not in BY_MEANING]
        some = [row for row in rows if row.mode == mode]
        some += _without_words(some) if mode == "hybrid" else _by_words_alone(rows)
        weights = fit(some, names)
        if mode == "keyword":
            weights[-1] += _shift(some, names, weights)
        fitted[mode] = dict(zip([*names, "bias"], weights, strict=True))
        print_left_out(mode, some, names)
    if given.write:
        FILE.write_text(to_toml(fitted, sorted({row.judged for row in rows}), len(rows)), encoding="utf-8")
    return 0


def fit(rows: Sequence[AskedVault], names: Sequence[str]) -> np.ndarray:
    """Weights, the bias last: logistic regression on the best hit of each question by the weights so far, repeated. So
    they are fitted to what is shown, the best evidence of the first hits, and no hit has to be judged."""
    import numpy as np

    tables = [measure(row.hits, names) for row in rows]
    weight, answers = _weigh_rows(rows)
    found = _regress(np.stack([table[0] for table in tables]), answers, weight)
    for _ in range(ROUNDS):
        best = np.stack([table[int(np.argmax(table @ found))] for table in tables])
        found = _regress(best, answers, weight)
    return found


def measure(hits: Sequence[RelevanceEvidence], names: Sequence[str]) -> np.ndarray:
    """A row of features for each of the first hits, the last a constant."""
    import numpy as np

    places = [FEATURES.index(name) for name in names]
    rows = map(measure_evidence, hits[:WINDOW])
    return np.array([[*(row[place] for place in places), 1.0] for row in rows])


def score(row: AskedVault, names: Sequence[str], weights: np.ndarray) -> float:
    """The score of the first hit."""
    import numpy as np

    return float(1 / (1 + np.exp(-(measure(row.hits, names) @ weights).max())))


def _shift(rows: Sequence[AskedVault], names: Sequence[str], weights: np.ndarray) -> float:
    """What to add to the bias for ``MOST_SILENCED`` of the answerable rows to lie below the threshold."""
    import numpy as np

    low = float(np.quantile([score(row, names, weights) for row in rows if row.answerable], MOST_SILENCED))
    likely = SearchSettings().likely
    return float(np.log(likely / (1 - likely)) - np.log(low / (1 - low)))


def _weigh_rows(rows: Sequence[AskedVault]) -> tuple[np.ndarray, np.ndarray]:
    """Every kind of question of every set counts alike, and as much is answerable as is not."""
    import numpy as np

    kinds = [(row.judged, row.few > 0, row.kind) for row in rows]
    counts = Counter(kinds)
    weight = np.array([min(1.0, MOST_OF_A_KIND / counts[kind]) for kind in kinds])
    answers = np.array([row.answerable for row in rows], dtype=float)
    weight[answers == 1] *= weight[answers == 0].sum() / weight[answers == 1].sum()
    return weight / weight.mean(), answers


def _regress(features: np.ndarray, answers: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weighted logistic regression with a small ridge, by Newton's method."""
    import numpy as np

    found = np.zeros(features.shape[1])
    ridge = PENALTY * weight.sum() * np.append(np.ones(len(found) - 1), 0.0)
    for _ in range(60):
        guessed = 1 / (1 + np.exp(-features @ found))
        slope = features.T @ (weight * (guessed - answers)) + ridge * found
        bend = features.T @ (features * (weight * guessed * (1 - guessed))[:, None]) + np.diag(ridge + 1e-9)
        step = np.linalg.solve(bend, slope)
        found -= step
        if abs(step).max() < 1e-7:
            break
    return found


def _without_words(rows: Sequence[AskedVault]) -> list[AskedVault]:
    """Some of the rows as people ask who do not know how a thing was written down."""
    import numpy as np

    chosen = np.random.default_rng(3).random(len(rows)) < WORDLESS_SHARE
    return [_strip_words(row) for row, take in zip(rows, chosen, strict=True) if take]


def _by_words_alone(rows: Sequence[AskedVault]) -> list[AskedVault]:
    """The made-up small vaults as they answer without vectors: by what shares a word with the question."""
    small = [replace(row, hits=tuple(hit for hit in row.hits if hit.own)) for row in rows if row.few]
    best = [replace(row, hits=tuple(sorted(row.hits, key=lambda hit: -hit.own))) for row in small if row.hits]
    return [replace(row, mode="keyword", hits=row.hits) for row in best]


def _strip_words(row: AskedVault) -> AskedVault:
    left = WORDLESS_COSINE if row.answerable else 1.0
    hits = [
        replace(hit, cosine=hit.cosine * left, own=0.0, around=0.0, unknown=1.0 if hit.passages <= FEW else hit.unknown)
        for hit in row.hits
    ]
    kind = OWN if row.answerable else "wordless"
    return replace(row, judged=f"{row.judged}, wordless", kind=kind, hits=tuple(hits))


def print_left_out(mode: str, rows: Sequence[AskedVault], names: Sequence[str]) -> None:
    """How each set does by weights fitted to the other sets alone."""
    sets = sorted({row.judged.partition(",")[0] for row in rows})
    for left in sets if len(sets) > 1 else ():
        weights = fit([row for row in rows if row.judged.partition(",")[0] != left], names)
        for few in (False, True):
            some = [row for row in rows if row.judged == left and bool(row.few) == few]
            yes = [score(row, names, weights) for row in some if row.answerable]
            no = [score(row, names, weights) for row in some if not row.answerable]
            if yes and no:
                what = f"{mode}, fitted without {left}{', small vaults' if few else ''}"
                print(f"{what}: AUROC {area_under_curve(yes, no):.3f} ({len(yes)} and {len(no)})")


def to_toml(fitted: Mapping[str, Mapping[str, float]], sets: Sequence[str], count: int) -> str:
    """The file of weights, with where they come from and its digest."""
    how = (
        f"by bench.quality.calibration_fit to {count:,} questions asked of vaults that answer them and of others that"
        f" cannot: {', '.join(sets)}"
    )
    content: dict[str, object] = {"model": EmbeddingSettings().model, "fitted": how}
    for mode, weights in fitted.items():
        rest = {name: round(float(value), 3) for name, value in weights.items() if name != "bias"}
        content[mode] = {"bias": round(float(weights["bias"]), 3), "weights": rest}
    lines = [
        "# How much each kind of evidence counts for the relevance of a hit. Fitted, not chosen: changed by hand, the",
        "# file is refused. Relevance is 1 / (1 + exp(-(bias + sum of weight x evidence))).",
        f'model = "{content["model"]}"',
        f'fitted = "{how}"',
        f'digest = "{digest_of(content)}"',
    ]
    for mode in fitted:
        section = content[mode]
        assert isinstance(section, dict)
        lines += ["", f"[{mode}]", f"bias = {section['bias']}", "", f"[{mode}.weights]"]
        lines += [f"{name} = {value}" for name, value in section["weights"].items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
