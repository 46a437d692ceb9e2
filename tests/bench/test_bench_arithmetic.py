"""The bench's own arithmetic: a wrong quantile would be published."""

from __future__ import annotations

import os
import time

import pytest

from bench import locomo, ranking, report
from bench.figures import Figure
from bench.lag import interpolate_quantile
from bench.measurements import blocks, cpu_seconds, quantile, resident_bytes
from bench.wire import VaultEndpoint, result_of


def test_a_quantile_is_a_value_that_was_measured() -> None:
    values = [float(n) for n in range(100, 0, -1)]
    assert quantile(values, 0.99) == 99
    assert quantile(values, 0.5) == 50
    assert quantile(values, 1.0) == 100
    assert quantile([7.0], 0.99) == 7


def test_blocks_cover_everything_once() -> None:
    assert [list(some) for some in blocks(5, 2)] == [[0, 1], [2, 3], [4]]


def test_processor_time_grows_with_work_and_not_with_waiting() -> None:
    before, own = cpu_seconds(os.getpid()), time.process_time()
    while time.process_time() - own < 0.1:
        sum(range(100_000))
    spent, mine = cpu_seconds(os.getpid()) - before, time.process_time() - own
    assert spent == pytest.approx(mine, abs=0.05)
    assert resident_bytes(os.getpid()) > 1_000_000


def test_recall_counts_the_share_of_what_is_relevant() -> None:
    ranked = ["a", "b", "c", "d", "e", "f"]
    assert ranking.recall_at(ranked, {"a", "f"}, 5) == 0.5
    assert ranking.recall_at(ranked, {"a", "f"}, 10) == 1.0
    assert ranking.reciprocal_rank(ranked, {"c", "f"}) == pytest.approx(1 / 3)
    assert ranking.reciprocal_rank(ranked, {"z"}) == 0.0


def test_a_question_without_an_answer_counts_as_nothing_found() -> None:
    found = ranking.score({"q1": ["a"]}, {"q1": {"a"}, "q2": {"b"}})
    assert found == {"R@5": 0.5, "R@10": 0.5, "R@20": 0.5, "MRR": 0.5}


def test_a_histogram_is_read_inside_its_bucket() -> None:
    counts = {0.01: 90.0, 0.05: 100.0, float("inf"): 100.0}
    assert interpolate_quantile(counts, 0.99) == pytest.approx(0.046)
    assert interpolate_quantile({0.01: 50.0, float("inf"): 100.0}, 0.99) == 0.01


@pytest.mark.parametrize(
    ("sense", "value", "met"),
    [("<=", 2.0, True), ("<", 2.0, False), (">=", 2.0, True), ("=", 2.0, True), ("<=", 2.1, False), (">=", 1.9, False)],
)
def test_a_limit_is_met_or_missed(sense: str, value: float, met: bool) -> None:
    figure = Figure("x", value, 2.0, sense)  # type: ignore[arg-type]
    assert figure.met is met
    assert figure.verdict == ("met" if met else "MISSED")


def test_a_skipped_figure_is_neither() -> None:
    assert Figure("x", None, 2.0).met is None
    assert Figure("x", None, 2.0).verdict == "skipped"


def test_the_table_fits_a_terminal() -> None:
    figures = [Figure("a" * 58, 1.234, 2.0, unit="×", raw="word " * 60), Figure("b", 12.0, 130, unit="MiB")]
    machine = dict.fromkeys(
        ("cpu", "cores", "memory_gib", "system", "python", "sqlite", "mcp", "starlette"), "something long"
    ) | dict.fromkeys(("uvicorn", "onnxruntime", "faiss-cpu", "pydantic"), "1")
    about = {"machine": machine, "load_before": 1, "load_after": 2, "seconds": 3.0, "scale": 0.1}
    table = report.plain(figures, about)
    assert max(map(len, table.splitlines())) <= report.WIDTH
    assert "≤ 130 MiB" in table
    assert "QUICK RUN" in table


def test_a_failed_call_is_never_taken_for_an_answer() -> None:
    with pytest.raises(RuntimeError, match="failed"):
        result_of(b'{"result":{"isError":true,"structuredContent":{"error":{}}}}')
    with pytest.raises(RuntimeError, match="failed"):
        result_of(b'{"error":{"code":-32602}}')


def test_the_older_revision_has_no_envelope() -> None:
    door = VaultEndpoint(1, "main", "t")
    assert b"_meta" not in door.call("noop", {}, "2025-11-25")
    assert b"mcp-name: noop" in door.call("noop", {})


def test_plain_bm25_stays_inside_the_conversation() -> None:
    turns = [{"id": f"{group}:{n}", "group": group, "text": f"red apples {n}"} for group in "ab" for n in range(3)]
    given = locomo.Conversations(turns, [{"id": "q", "group": "b", "text": "Apples?"}], {"q": {"b:1"}})
    ((name, ranked),) = locomo.plain_bm25(given)
    assert name == "q"
    assert sorted(ranked) == ["b:0", "b:1", "b:2"]
