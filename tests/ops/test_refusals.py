"""One line per refusal, a bound on how many, and a count of what was held back."""

import json
import os

import pytest
from prometheus_client import CollectorRegistry

from ops.logs import CallLog
from ops.metrics import Metrics
from ops.refusals import HINTS, LINES_ALL, LINES_EACH, REASONS, WINDOW_S, RefusalLine, RefusalLog
from ops.sink import Sink


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def log(tmp_path):
    with (tmp_path / "log").open("w+b") as file:
        clock, counted = Clock(), []
        made = RefusalLog(CallLog(Sink(file.fileno())), counted.append, clock=clock)

        def lines():
            os.lseek(file.fileno(), 0, os.SEEK_SET)
            return [json.loads(line) for line in file.read().splitlines()]

        yield made, clock, counted, lines


async def test_a_refusal_is_one_line_with_what_is_known_and_where_to_look(log):
    made, _, counted, lines = log
    made.write(RefusalLine("audience", 401, "10.1.2.3", principal="abc", found="api://other"))
    (line,) = lines()
    assert line.pop("ts")
    assert line == {
        "level": "warning",
        "event": "refused",
        "status": 401,
        "reason": "audience",
        "principal": "abc",
        "address": "10.1.2.3",
        "found": "api://other",
        "hint": HINTS["audience"],
    }
    assert counted == ["audience"]


async def test_a_flood_of_one_address_hides_no_other_and_is_told_as_a_count(log):
    made, clock, counted, lines = log
    for _ in range(1000):
        made.write(RefusalLine("missing", 401, "10.0.0.1"))
    made.write(RefusalLine("missing", 401, "10.0.0.2"))
    made.write(RefusalLine("grant", 404, "10.0.0.1"))
    assert len(lines()) == LINES_EACH + 2
    assert len(counted) == 1002
    clock.now += WINDOW_S
    made.write(RefusalLine("grant", 404, "10.0.0.1"))
    assert [(line["event"], line["reason"], line.get("count")) for line in lines()[-2:]] == [
        ("refusals_held_back", "missing", 1000 - LINES_EACH),
        ("refused", "grant", None),
    ]


async def test_many_addresses_write_no_more_than_a_window_takes(log):
    made, _, _, lines = log
    for number in range(10_000):
        made.write(RefusalLine("missing", 401, f"10.0.{number >> 8}.{number & 255}"))
    made.flush()
    made.flush()
    assert len(lines()) == LINES_ALL + 1
    assert lines()[-1]["count"] == 10_000 - LINES_ALL
    assert len(made._written) == LINES_ALL


def test_every_reason_is_a_series_from_the_start_and_none_is_called_other():
    registry = CollectorRegistry()
    metrics = Metrics(registry, tools=[], version="0")
    for reason in REASONS:
        metrics.on_refusal(reason)
        assert registry.get_sample_value("strongroom_auth_failures_total", {"reason": reason}) == 1
    assert "other" not in REASONS
    assert set(HINTS) <= set(REASONS)
