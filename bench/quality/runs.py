"""Every set stored, asked in every way and scored."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench import data_folders, servers
from bench.quality import baselines, queries, stored_sets
from bench.quality.own_scores import OwnScorer
from bench.quality.queries import MODES, AnsweredRun
from bench.quality.scores import RunScores, ScoreScript
from bench.quality.sets import Goal, JudgedSet
from bench.quality.stored_sets import SUBJECT, StoredSets
from bench.run import ROOT
from vaults.errors import InvalidArgument

SEARCH = "STRONGROOM_SEARCH__"
ABLATIONS: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("fusion by ranks (rrf)", {f"{SEARCH}FUSION": "rrf"}),
    ("fusion fixed, 0.7 dense", {f"{SEARCH}FUSION": "fixed"}),
    ("no text before or after", {f"{SEARCH}BEFORE": "0", f"{SEARCH}AFTER": "0"}),
    ("vectors not smoothed", {f"{SEARCH}SMOOTHING": "0"}),
    ("frequent words to the model", {f"{SEARCH}FREQUENT_SHARE": "1"}),
    ("names not lifted", {f"{SEARCH}NAMED": "0"}),
    ("questions not lowered", {f"{SEARCH}QUESTION": "0"}),
    ("links not followed", {f"{SEARCH}LINKS": "0"}),
    ("next passages not counted", {f"{SEARCH}SEVERAL": "0"}),
    ("slips not corrected", {f"{SEARCH}CORRECTIONS": "false"}),
    ("threads not lifted", {f"{SEARCH}THREAD": "0"}),
    ("injected orders not lowered", {f"{SEARCH}ADVERSARIAL": "0"}),
    ("no learned order", {f"{SEARCH}LEARNED": "0"}),
)
"""One change of the default at a time: what the row is called, and the environment of the server."""

BASELINES: Mapping[str, Callable[[JudgedSet, int], dict[str, list[str]]]] = {
    "scan": baselines.rank_by_scan,
    "bm25": baselines.rank_by_plain_bm25,
}
"""Systems that need no server."""


Scorer = ScoreScript | OwnScorer


@dataclass(slots=True)
class SetResults:
    """What is known of a set. ``changed`` holds a row for each ablation: its figures, or why there are none.
    ``beside``: the set it is held against, where that was asked too."""

    judged: JudgedSet
    rows: dict[str, RunScores] = field(default_factory=dict)
    answered: dict[str, AnsweredRun] = field(default_factory=dict)
    changed: dict[str, RunScores | str] = field(default_factory=dict)
    beside: SetResults | None = None

    @property
    def floors(self) -> dict[str, float]:
        """What each measure may not fall below."""
        return {goal.measure: self._find_floor(goal) for goal in self.judged.task.goals}

    def _find_floor(self, goal: Goal) -> float:
        if goal.within is None or self.beside is None:
            return goal.floor
        return max(goal.floor, self.beside.rows["default"].values[goal.measure] - goal.within)

    @property
    def missed(self) -> list[str]:
        """The measures that fall below their floor; none where only a part was asked."""
        if self.judged.shortened:
            return []
        values = self.rows["default"].values
        return [measure for measure, floor in self.floors.items() if values[measure] < floor]


def measure(
    sets: Sequence[JudgedSet], stored: StoredSets, scorer: Scorer, *, ablate: bool, flags: Mapping[str, Any]
) -> Iterator[SetResults]:
    """One block a set, in order. ``flags``: settings of every server, beside those that an ablation changes."""
    done: dict[str, SetResults] = {}
    for same in _group_by_store(sets):
        blocks = [SetResults(judged) for judged in same]
        for block, run, answered in _ask_store(blocks, stored, flags, tuple(MODES)):
            block.answered[run] = answered
            block.rows[run] = scorer.score(block.judged, run, answered.ranked, intervals=run == "default")
        for block in blocks:
            for name, ranking in BASELINES.items():
                block.rows[name] = scorer.score(block.judged, name, ranking(block.judged, queries.DEPTH))
        for label, environment in ABLATIONS if ablate else ():
            changed = {**flags, **flags_of(environment)}
            _add_ablation(blocks, StoredSets(stored.folder), scorer, label, changed)
        done |= {block.judged.task.name: block for block in blocks}
        for block in blocks:
            block.beside = done.get(block.judged.task.beside or "")
        yield from blocks


def flags_of(environment: Mapping[str, str]) -> dict[str, str]:
    """``STRONGROOM_SEARCH__FUSION`` as the setting it is, ``search.fusion``."""
    return {
        name.removeprefix("STRONGROOM_").lower().replace("__", ".", 1): value for name, value in environment.items()
    }


def _add_ablation(
    blocks: Sequence[SetResults], stored: StoredSets, scorer: Scorer, label: str, flags: Mapping[str, Any]
) -> None:
    try:
        data_folders.default_settings(ROOT, **flags)
    except InvalidArgument as unknown:
        for block in blocks:
            block.changed[label] = str(unknown)
        return
    for block, run, answered in _ask_store(blocks, stored, flags, ("default",)):
        name = "without." + "-".join(label.split())
        block.changed[label] = scorer.compare(block.judged, name, answered.ranked, run)


def _ask_store(
    blocks: Sequence[SetResults], stored: StoredSets, flags: Mapping[str, Any], runs: Sequence[str]
) -> Iterator[tuple[SetResults, str, AnsweredRun]]:
    first = blocks[0].judged
    with stored_sets.copy_stored_set(stored, first, flags) as ready:
        token = ready.tokens[SUBJECT]
        with servers.run_server(servers.SERVE, ready.data, **flags) as server:
            for vault in first.vaults:
                queries.warm(server.port, token, vault)
            for block in blocks:
                for run in runs:
                    answered = queries.ask(block.judged, server.port, token, run)
                    what = ", ".join(
                        [block.judged.task.name, run, *(f"{name}={value}" for name, value in flags.items())]
                    )
                    told = f"{what}: {len(block.judged.questions)} questions, p50 {answered.seconds * 1000:.1f} ms"
                    print(f"  {told}", file=sys.stderr, flush=True)
                    yield block, run, answered


def _group_by_store(sets: Sequence[JudgedSet]) -> list[list[JudgedSet]]:
    """Sets that are stored alike together: they are asked on one server."""
    together: dict[tuple[str, str], list[JudgedSet]] = {}
    for judged in sets:
        together.setdefault((judged.task.store, judged.digest), []).append(judged)
    return list(together.values())
