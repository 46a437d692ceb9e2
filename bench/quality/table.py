"""The table, for a terminal and for ``docs/quality.md``, the JSON beside it, and the list of what was not found."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.machine import one_line
from bench.quality.runs import SetResults
from bench.quality.scores import MEASURES, RunScores
from bench.quality.sets import Goal

WIDTH, NAME, CELL = 100, 36, 8
SYSTEMS = {
    "scan": "grep-like scan",
    "bm25": "BM25, plain SQLite FTS5",
    "keyword": "BM25 only (mode keyword)",
    "semantic": "dense only (mode semantic)",
    "default": "default",
}
SHOWN = ("R@1", *MEASURES)
"""What a block shows of what is known of a set."""

OWN_LANGUAGE, OTHER_LANGUAGE = ("R@1", "R@10", "MRR", "nDCG@10"), ("R@10", "nDCG@10")
"""What is shown of a set by language, with floors or without: where questions and texts share it, and where not."""

MISSED_BELOW = 10
"""A question is listed when something that answers it is not among the first ten."""


def plain(blocks: Sequence[SetResults], about: Mapping[str, Any]) -> str:
    """A block for each set: the systems, the interval of the default, and what it has to reach."""
    return "\n".join([line for block in blocks for line in (*_block(block), *_ablations(block), "")] + foot(about))


def markdown(blocks: Sequence[SetResults], about: Mapping[str, Any]) -> str:
    """For ``docs/quality.md``: a row for each figure that has a floor or is of a language, and a table for what each
    stage is worth."""
    heads = ("set", "measure", *SYSTEMS.values(), "95 %", "at least", "aim")
    lines = [_cells(heads), _cells(["---"] * 2 + ["---:"] * (len(heads) - 2))]
    for block in blocks:
        goals = {goal.measure: goal for goal in block.judged.task.goals}
        for measure in _shown(block):
            values = [_figure(block.rows[system].values[measure]) for system in SYSTEMS]
            values[-1] = f"**{values[-1]}**"
            low, high = block.rows["default"].interval[measure]
            marked = f"{_figure(block.floors.get(measure))}{' (missed)' if measure in block.missed else ''}"
            between = f"{_figure(low)}–{_figure(high)}"
            aim = _figure(goals[measure].aim) if measure in goals else ""
            lines.append(_cells([block.judged.task.title, measure, *values, between, marked, aim]))
    return "\n".join([*lines, "", *_stages(blocks), *foot(about)])


def _shown(block: SetResults) -> Sequence[str]:
    """The measures that have a row of their own."""
    if (languages := block.judged.task.languages) is not None:
        return OWN_LANGUAGE if languages[0] == languages[1] else OTHER_LANGUAGE
    return [goal.measure for goal in block.judged.task.goals]


def foot(about: Mapping[str, Any]) -> list[str]:
    """Where and how it was measured."""
    notes = [
        f"one configuration for all; {about['tool']} through MCP, {about['depth']} hits a question; intervals are"
        " bootstrapped over questions; adversarial questions are left out",
        f"model {about['model']}; {about['seconds']:.0f} s",
        one_line(about["machine"]),
    ]
    if about["quick"]:
        notes.insert(0, "QUICK RUN: few questions, few documents; these figures only show that the bench works")
    return [line for note in notes for line in textwrap.wrap(note, WIDTH)]


def write_json(path: Path, blocks: Sequence[SetResults], about: Mapping[str, Any]) -> None:
    """Everything, for programs; no text of the sets."""
    whole = {
        "about": about,
        "sets": {
            block.judged.task.name: {
                "goals": [asdict(goal) for goal in block.judged.task.goals],
                "floors": block.floors,
                "missed": block.missed,
                "systems": {name: asdict(row) for name, row in block.rows.items()},
                "p50_s": {run: answered.seconds for run, answered in block.answered.items()},
                "changed": {
                    label: row if isinstance(row, str) else asdict(row) for label, row in block.changed.items()
                },
            }
            for block in blocks
        },
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(whole, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def list_misses(results: SetResults) -> Iterator[dict[str, Any]]:
    """The default's questions that lack an answer among the first ten, the worst first. Ranks start at 1; None: not
    among the hits."""
    found = results.answered["default"].ranked
    lines = []
    for question in results.judged.questions:
        places = {name: place for place, name in enumerate(found[question.id], 1)}
        ranks = {name: places.get(name) for name in sorted(question.relevant)}
        lost = sum(rank is None or rank > MISSED_BELOW for rank in ranks.values())
        if lost:
            line = {"set": results.judged.task.name, "id": question.id, "text": question.text, "ranks": ranks}
            lines.append((lost / len(ranks), {**line, "first": found[question.id][:MISSED_BELOW]}))
    yield from (line for _, line in sorted(lines, key=lambda pair: -pair[0]))


def _block(results: SetResults) -> Iterator[str]:
    judged, goals = results.judged, {goal.measure: goal for goal in results.judged.task.goals}
    vaults, measures = len(judged.vaults), [name for name in SHOWN if name in results.rows["default"].values]
    counts = (
        f"{len(judged.questions)} questions, {len(judged.documents):,} documents, {vaults} vault{'s'[: vaults > 1]}"
    )
    yield f"{judged.task.title}: {counts}"
    yield _row("", measures)
    yield "─" * WIDTH
    for system, title in SYSTEMS.items():
        yield _row(title, [_figure(results.rows[system].values[measure]) for measure in measures])
    for number, end in enumerate(("  95 % from", "  95 % to")):
        interval = results.rows["default"].interval
        yield _row(end, [_figure(interval[measure][number]) for measure in measures])
    yield _row("at least", [_figure(results.floors.get(name)) for name in measures])
    yield _row("aim", [_figure(goals[name].aim) if name in goals else "" for name in measures])
    if not judged.shortened:
        yield _row("", [_verdict(goals.get(name), results.missed) for name in measures])


def _verdict(goal: Goal | None, missed: Sequence[str]) -> str:
    if goal is None:
        return ""
    return "MISSED" if goal.measure in missed else "met"


def _ablations(results: SetResults) -> Iterator[str]:
    if not results.changed:
        return
    measures = [goal.measure for goal in results.judged.task.goals]
    yield _row("changed, against the default", [*measures, "p R@10", "p nDCG"])
    for label, row in results.changed.items():
        yield f"{label:{NAME}}{row}" if isinstance(row, str) else _row(label, _deltas(results, row))


def _stages(blocks: Sequence[SetResults]) -> list[str]:
    """One table: a row for each change, a column for each headline figure, the differences in it."""
    labels = list(dict.fromkeys(label for block in blocks for label in block.changed))
    if not labels:
        return []
    heads = [f"{block.judged.task.name} {goal.measure}" for block in blocks for goal in block.judged.task.goals]
    lines = [_cells(["changed", *heads]), _cells(["---"] + ["---:"] * len(heads))]
    for label in labels:
        cells = []
        for block in blocks:
            row, goals = block.changed[label], block.judged.task.goals
            cells += ["–"] * len(goals) if isinstance(row, str) else _deltas(block, row)[: len(goals)]
        lines.append(_cells([label, *cells]))
    return [*lines, ""]


def _deltas(results: SetResults, row: RunScores) -> list[str]:
    base = results.rows["default"].values
    found = [f"{row.values[goal.measure] - base[goal.measure]:+.3f}" for goal in results.judged.task.goals]
    return [*found, *(f"{row.p[measure]:.3f}" for measure in ("R@10", "nDCG@10"))]


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _row(name: str, cells: Sequence[str]) -> str:
    return (f"{name:{NAME}}" + "".join(f"{cell:>{CELL}}" for cell in cells)).rstrip()


def _cells(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
