"""Asking real programs, that misbehave in every way; none of them outlives the question."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from pathlib import Path

import pytest

from tests.work import PATIENCE_S
from vaults.transcripts.model_extraction.language_model import MAX_ANSWER, BadAnswer, ModelUnavailable
from vaults.transcripts.model_extraction.model_command import ModelCommand

ENVIRONMENT = {"PATH": os.environ["PATH"], "CITY": "Hamburg"}
TIMEOUT_S, SHORT_S = PATIENCE_S, 0.5


def command(folder: Path, script: str, timeout_s: float = TIMEOUT_S) -> ModelCommand:
    return ModelCommand((sys.executable, "-c", script), ENVIRONMENT, folder / "run", timeout_s, grace_s=SHORT_S)


def await_gone(process: int) -> None:
    """The process is no more, or is only waited for by whoever adopted it."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state in "ZX":
            return
    raise AssertionError(f"{process} is still there")


async def test_the_prompt_goes_in_and_the_answer_comes_out(tmp_path: Path) -> None:
    script = "import sys; sys.stdout.write(sys.stdin.read().upper())"
    reply = await command(tmp_path, script).ask("größe\n" * 100_000, {})
    assert (reply.text, reply.tokens) == ("GRÖSSE\n" * 100_000, None)


async def test_it_sees_nothing_but_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRONGROOM_TOKEN", "secret")
    seen = "dict(os.environ), os.getcwd(), os.listdir(), os.getpgid(0) == os.getpid()"
    script = f"import os, json; print(json.dumps([{seen}]))"
    shown = (await command(tmp_path, script).ask("", {})).text
    assert "secret" not in shown
    assert '"CITY": "Hamburg"' in shown
    assert f'"{tmp_path / "run"}", [], true]' in shown


async def test_no_shell_reads_its_arguments(tmp_path: Path) -> None:
    argv = (sys.executable, "-c", "import sys; print(sys.argv[1])", "$(touch made); echo `id`")
    reply = await ModelCommand(argv, ENVIRONMENT, tmp_path / "run", TIMEOUT_S).ask("", {})
    assert reply.text == "$(touch made); echo `id`\n"
    assert list((tmp_path / "run").iterdir()) == []


@pytest.mark.parametrize(
    ("script", "reason"),
    [("raise SystemExit(3)", "ended with 3"), ("import os; os.kill(os.getpid(), 9)", "ended with -9")],
)
async def test_one_that_fails_gives_no_answer(tmp_path: Path, script: str, reason: str) -> None:
    with pytest.raises(ModelUnavailable, match=reason):
        await command(tmp_path, f"print('half an answer', flush=True); {script}").ask("", {})


async def test_one_that_is_not_there_gives_no_answer(tmp_path: Path) -> None:
    for argv in (("/nowhere/at-all",), ("a\0b",), (str(tmp_path),)):
        with pytest.raises(ModelUnavailable, match="cannot be started"):
            await ModelCommand(argv, ENVIRONMENT, tmp_path / "run", TIMEOUT_S).ask("", {})


async def test_one_that_reads_no_prompt_may_answer(tmp_path: Path) -> None:
    assert (await command(tmp_path, "print('done')").ask("x" * 2_000_000, {})).text == "done\n"


async def test_one_that_never_stops_talking_is_stopped(tmp_path: Path) -> None:
    script = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
    with pytest.raises(BadAnswer, match="too long"):
        await command(tmp_path, script).ask("", {})
    exact = f"import sys; sys.stdout.write('x' * {MAX_ANSWER})"
    assert len((await command(tmp_path, exact).ask("", {})).text) == MAX_ANSWER


async def test_bytes_that_are_no_text_are_no_answer(tmp_path: Path) -> None:
    with pytest.raises(BadAnswer, match="not UTF-8"):
        await command(tmp_path, "import sys; sys.stdout.buffer.write(b'\\xff')").ask("", {})


DEAF = """
import os, pathlib, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child:
    pathlib.Path({told!r}).write_text(f"{{os.getpid()}} {{child}}")
    os.rename({told!r}, {told!r} + ".whole")
while True:
    time.sleep(60)
"""


def _told(told: Path) -> list[int]:
    """The processes that were started, once both are there."""
    whole, until = told.with_name(f"{told.name}.whole"), time.monotonic() + PATIENCE_S
    while not whole.exists():
        assert time.monotonic() < until
    return [int(each) for each in whole.read_text().split()]


async def test_one_that_hears_no_request_to_end_is_killed_with_its_children(tmp_path: Path) -> None:
    told = tmp_path / "told"
    for timeout_s in (1.0, 8.0, PATIENCE_S):  # as long as it takes until it is deaf
        with pytest.raises(ModelUnavailable, match="did not answer within"):
            await command(tmp_path, DEAF.format(told=str(told)), timeout_s).ask("", {})
        if told.with_name("told.whole").exists():
            break
    for process in _told(told):
        await_gone(process)


async def test_whoever_stops_asking_leaves_nothing_running(tmp_path: Path) -> None:
    told = tmp_path / "told"
    asking = asyncio.create_task(command(tmp_path, DEAF.format(told=str(told))).ask("", {}))
    processes = await asyncio.to_thread(_told, told)
    asking.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asking
    for process in processes:
        await_gone(process)


LEAVING = """
import os, time
child = os.fork()
if child:
    print(child, flush=True)
    os._exit(0)
while True:
    time.sleep(60)
"""


async def test_a_child_that_is_left_behind_neither_holds_the_answer_up_nor_stays(tmp_path: Path) -> None:
    reply = await command(tmp_path, LEAVING).ask("", {})
    await_gone(int(reply.text))
