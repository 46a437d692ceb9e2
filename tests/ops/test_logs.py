"""What gets out through logs, and what does not.

Covers ops.settings, ops.sink.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
import warnings

import pytest
import structlog

from ops.logs import CallLine, configure
from ops.settings import OpsSettings
from ops.sink import Sink

SECRET = "what the agent remembered"


@pytest.fixture
def piped(monkeypatch):
    """Configured logs on a pipe; ``lines()`` reads what came out. Everything process-wide is put back."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    for owner, hook in ((sys, "excepthook"), (threading, "excepthook"), (sys, "unraisablehook")):
        monkeypatch.setattr(owner, hook, getattr(owner, hook))
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(logging, "raiseExceptions", True)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level

    class Piped:
        calls = configure(OpsSettings(log_format="json"), Sink(writer))
        fd = writer

        @staticmethod
        def lines():
            try:
                return [json.loads(line) for line in os.read(reader, 1 << 20).decode().splitlines()]
            except BlockingIOError:
                return []

    yield Piped
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)
    structlog.reset_defaults()
    os.close(reader)
    os.close(writer)


def burst():
    raise RuntimeError(SECRET)


def a_call(**more):
    given = {"request": "r-1", "principal": "ab12", "vault": "main", "tool": "recall", "transport": "http"}
    return CallLine(**{**given, "outcome": "ok", "seconds": 0.0123456, **more})


def test_a_call_is_one_line_with_the_declared_keys(piped):
    piped.calls.write(a_call(era="2026-07-28", cache="hit", hits=3))
    (line,) = piped.lines()
    stamp = line.pop("ts")
    assert stamp.endswith("Z")
    assert line == {
        "level": "info",
        "event": "call",
        "request": "r-1",
        "principal": "ab12",
        "vault": "main",
        "tool": "recall",
        "transport": "http",
        "era": "2026-07-28",
        "outcome": "ok",
        "ms": 12.346,
        "hits": 3,
        "cache": "hit",
    }


def test_an_internal_failure_carries_reference_and_place_but_no_text(piped):
    with pytest.raises(RuntimeError) as raised:
        burst()
    piped.calls.write(a_call(outcome="internal", ref="R7", failure=raised.value))
    (line,) = piped.lines()
    assert (line["level"], line["ref"], line["error"]) == ("error", "R7", "RuntimeError")
    assert "test_logs.py" in line["where"]
    assert SECRET not in json.dumps(line)


def test_a_hostile_tool_name_stays_inside_its_value(piped):
    piped.calls.write(a_call(tool='x\r\n{"event":"forged"}\x1b[31m' + "y" * 1_000_000))
    (line,) = piped.lines()
    assert line["event"] == "call"
    assert len(line["tool"]) == 200


def test_ordinary_calls_are_silent_above_info_and_failures_are_not(piped):
    calls = configure(OpsSettings(log_level="warning", log_format="json"), Sink(piped.fd))
    calls.write(a_call())
    calls.write(a_call(outcome="internal"))
    assert [line["outcome"] for line in piped.lines()] == ["internal"]


@pytest.mark.parametrize("name", ["mcp.server.lowlevel", "uvicorn.error", "httpx2", "asyncio"])
def test_libraries_say_their_template_and_never_what_fills_it(piped, name):
    logger = logging.getLogger(name)
    logger.info("quiet %s", SECRET)
    try:
        burst()
    except RuntimeError:
        logger.exception("handler for %r raised", SECRET)
    (line,) = piped.lines()
    assert line["event"] == "handler for %r raised"
    assert line["error"] == "RuntimeError"
    assert SECRET not in json.dumps(line)


def test_an_access_log_stays_off(piped):
    logging.getLogger("uvicorn.access").error("GET /?token=%s", SECRET)
    assert piped.lines() == []


async def test_a_lost_task_does_not_print_its_exception(piped):
    async def lost():
        raise ValueError(SECRET)

    task = asyncio.create_task(lost())
    await asyncio.wait([task])
    del task
    (line,) = piped.lines()
    assert line["event"] == "Task exception was never retrieved"
    assert SECRET not in json.dumps(line)


def test_warnings_and_uncaught_exceptions_become_lines(piped):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        warnings.warn(f"first line\ninput_value={SECRET!r}", stacklevel=1)

    thread = threading.Thread(target=burst, name="burst")
    thread.start()
    thread.join()
    sys.excepthook(ValueError, ValueError(SECRET), None)
    said = piped.lines()
    assert [line.get("logger", line["event"]) for line in said] == ["py.warnings", "uncaught_in_thread", "uncaught"]
    assert SECRET not in json.dumps(said)


def test_own_events_keep_their_fields(piped):
    structlog.get_logger("server.http").info("worker_died", seat=1)
    logging.getLogger("vaults.pool").warning("closed %s", "idle vault")
    first, second = piped.lines()
    assert (first["event"], first["seat"]) == ("worker_died", 1)
    assert (second["event"], second["logger"]) == ("closed idle vault", "vaults.pool")


def test_a_full_pipe_costs_lines_and_says_so(piped):
    dropped = []
    piped.calls.sink.on_drop = dropped.append
    for _ in range(2000):  # more than a pipe holds, and nobody reads
        piped.calls.write(a_call())
    assert sum(dropped) > 0
    piped.lines()
    piped.calls.write(a_call(request="after"))
    notice, after = piped.lines()
    assert (notice["event"], notice["count"]) == ("log_lines_dropped", sum(dropped))
    assert after["request"] == "after"


def test_a_closed_stderr_is_survived():
    reader, writer = os.pipe()
    os.close(reader)
    sink = Sink(writer)
    sink.write("gone\n")
    os.close(writer)
    sink.write("gone too\n")
