"""Figures by ``score.py``, which lies beside the data, as a process of its own."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench import locomo
from bench.quality.queries import Ranked
from bench.quality.sets import LEFT_OUT, JudgedSet

SCORER, NEEDS = "score.py", "ir_measures"
MEASURES = ("R@5", "R@10", "R@20", "nDCG@10", "MRR", "Any@10", "All@10")


@dataclass(frozen=True, slots=True)
class RunScores:
    """Means over the judged questions, 95 % intervals where asked for, and against another run the p-values."""

    values: Mapping[str, float]
    interval: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    p: Mapping[str, float] = field(default_factory=dict)
    categories: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScoreScript:
    """``script`` reads runs from ``out``; they hold ids and places, no text."""

    script: Path
    out: Path

    def score(self, judged: JudgedSet, run: str, ranked: Ranked, *, intervals: bool = False) -> RunScores:
        """The figures of a run, which stays in ``out``. Raises ``RuntimeError`` when the scorer does."""
        return _parse_scores(self._asked(judged, self._written(judged, run, ranked), *(["--ci"] if intervals else [])))

    def compare(self, judged: JudgedSet, run: str, ranked: Ranked, base: str) -> RunScores:
        """The same beside run ``base``, scored before."""
        baseline = self._path(judged, base)
        return _parse_scores(self._asked(judged, self._written(judged, run, ranked), "--baseline", str(baseline)))

    def _path(self, judged: JudgedSet, run: str) -> Path:
        return self.out / f"{judged.task.name}{'.quick' if judged.shortened else ''}.{run}.run"

    def _written(self, judged: JudgedSet, run: str, ranked: Ranked) -> Path:
        path = self._path(judged, run)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in locomo.trec_lines(ranked)), encoding="utf-8")
        return path

    def _asked(self, judged: JudgedSet, run: Path, *more: str) -> str:
        command = [sys.executable, str(self.script), "--qrels", str(self._qrels(judged)), "--run", str(run)]
        command += ["--queries", str(judged.folder / "queries.jsonl"), "--exclude-category", LEFT_OUT, "--json", *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{SCORER}: {done.stderr.strip()[-300:]}")
        return done.stdout

    def _qrels(self, judged: JudgedSet) -> Path:
        whole = judged.folder / judged.task.qrels
        if not judged.shortened:
            return whole
        asked = {question.id for question in judged.questions}
        head, *lines = whole.read_text(encoding="utf-8").splitlines()
        path = self.out / f"{judged.task.name}.quick.qrels.tsv"
        kept = [line for line in lines if line.partition("\t")[0] in asked]
        path.write_text("\n".join([head, *kept]) + "\n", encoding="utf-8")
        return path


def missing_reason(data: Path) -> str | None:
    """Why nothing can be scored here, or None."""
    if not (data / SCORER).is_file():
        return f"{data / SCORER} is not there"
    if importlib.util.find_spec(NEEDS) is None:
        return "the package ir-measures is not installed (it is in requirements/dev.txt)"
    return None


def _parse_scores(text: str) -> RunScores:
    found = json.loads(text)
    interval = {measure: (low, high) for measure, (low, high) in found.get("ci95", {}).items()}
    p = {measure: each["p"] for measure, each in found.get("vs_baseline", {}).items()}
    return RunScores(found["overall"], interval, p, found.get("by_category", {}))
