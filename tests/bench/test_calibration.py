"""Judging relevance: who is told that nothing answers, and how its weights are fitted.

Covers bench.quality.calibration, bench.quality.calibration_fit, bench.quality.calibration_rows.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.quality import calibration, calibration_fit
from bench.quality.calibration_rows import AskedVault, area_under_curve, read_rows, write_rows
from vaults.search.relevance_scores import RelevanceEvidence
from vaults.search.relevance_weights import load_weights

CLEAR = RelevanceEvidence(cosine=0.7, own=0.8, around=0.8, unknown=0.0, strange=0.0, words=4, passages=500)
NONE = RelevanceEvidence(cosine=0.05, own=0.0, around=0.0, unknown=1.0, strange=0.0, words=4, passages=500)


def rows(yes: RelevanceEvidence = CLEAR, no: RelevanceEvidence = NONE) -> list[AskedVault]:
    pairs = [("own", yes), ("everyday", no)] * 40
    chance = np.random.default_rng(1)
    return [
        AskedVault("locomo", kind, mode, 0, "?", (replace(hit, cosine=hit.cosine + chance.uniform(-0.04, 0.04)),))
        for kind, hit in pairs
        for mode in calibration.MODES
    ]


def test_the_area_is_the_share_of_pairs_in_order_ties_by_half() -> None:
    assert area_under_curve([0.9, 0.5], [0.5, 0.1]) == pytest.approx(0.875)
    assert area_under_curve([1.0], [0.0]) == 1


def test_floors_hold_where_scores_tell_and_fail_where_they_do_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert calibration.print_table(rows()) == 0
    assert "AUROC 1.000  silenced 0.000 of 40  told 1.000 of 40" in capsys.readouterr().out
    assert calibration.print_table(rows(yes=NONE)) == 1
    assert calibration.print_table(rows(no=CLEAR)) == 1


def test_rows_are_kept_as_they_were(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.jsonl", rows())
    assert read_rows([tmp_path / "rows.jsonl"]) == rows()


def test_fitted_weights_tell_what_they_were_fitted_to_and_are_read_back(tmp_path: Path) -> None:
    names = ("cosine", "own_words", "unknown_words")
    weights = calibration_fit.fit(rows(), names)
    scores = {row.kind: calibration_fit.score(row, names, weights) for row in rows()}
    assert scores["own"] > 0.8 > 0.2 > scores["everyday"]
    fitted = dict(zip([*names, "bias"], weights, strict=True))
    file = tmp_path / "weights.toml"
    file.write_text(calibration_fit.to_toml({"hybrid": fitted, "keyword": fitted}, ["locomo"], 80), encoding="utf-8")
    assert load_weights(file).hybrid.probability(CLEAR) == pytest.approx(scores["own"], abs=0.05)
    assert "locomo" in tomllib.loads(file.read_text(encoding="utf-8"))["fitted"]


@pytest.mark.parametrize("kept", [True, False])
def test_the_command_fits_to_rows_kept_or_asked_for_and_writes_them_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, kept: bool
) -> None:
    known = [*rows(), *(replace(row, judged="hotpotqa") for row in rows())]
    monkeypatch.setattr(calibration_fit, "FILE", tmp_path / "weights.toml")
    monkeypatch.setattr(calibration, "ask_sets", lambda *_: known)
    write_rows(tmp_path / "rows.jsonl", known)
    assert calibration_fit.main([*([str(tmp_path / "rows.jsonl")] if kept else []), "--write"]) == 0
    written = load_weights(tmp_path / "weights.toml")
    assert written.hybrid.probability(CLEAR) > 0.8 > 0.2 > written.hybrid.probability(NONE)


def test_nothing_is_fitted_where_no_set_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "ask_sets", lambda *_: [])
    assert calibration_fit.main(["--write"]) == 1
