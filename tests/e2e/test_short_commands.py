"""Short commands over a vault that owes vectors, the model cold and a busy loop on every core: each ends as it should.
A longer run is ``ROUNDS=60 make e2e``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.server.cli.command import Strongroom
from tests.work import PROGRAM_PATIENCE_S

ROUNDS = int(os.environ.get("ROUNDS", "2"))
COMMANDS = (
    ("vault", "info", "main"),
    ("call", "recall", '{"query": "databases"}', "--vault", "main"),
    ("call", "remember", '{"content": "tea at four"}', "--vault", "main"),
    ("verify",),
    ("token", "list"),
)
COLD = {"STRONGROOM_EMBEDDING__ENGINE": "auto"}


@pytest.fixture
def owing(tmp_path: Path) -> Strongroom:
    strongroom = Strongroom(tmp_path / "data")
    strongroom("vault", "create", "main")
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps({"content": f"decision {n} on databases"}) + "\n" for n in range(2_000)))
    assert strongroom("import", "jsonl", str(source), "--vault", "main").code == 0  # the engine is off: all is owed
    return strongroom


def has_open(process: subprocess.Popen[bytes], file: Path) -> bool:
    """Whether it, and no command before it, has the file open."""
    with suppress(OSError):  # it has ended, or has just closed one
        return any(each.readlink() == file for each in Path(f"/proc/{process.pid}/fd").iterdir())
    return False


@pytest.fixture
def busy() -> Iterator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@pytest.mark.usefixtures("busy")
def test_short_commands_end_with_0_while_vectors_are_owed_and_the_machine_is_busy(owing: Strongroom) -> None:
    for _ in range(ROUNDS):
        for words in COMMANDS:
            ran = owing.process(*words, **COLD)
            assert (ran.code, "terminate" in ran.err) == (0, False), (words, ran.code, ran.err)


@pytest.mark.usefixtures("busy")
def test_an_interrupt_in_the_middle_ends_a_command_with_130(owing: Strongroom) -> None:
    wal = owing.data / "vaults" / "main" / "vault.db-wal"
    commands: tuple[tuple[str, ...], ...] = (("reindex", "--vault", "main"), *COMMANDS[:2])
    for words in commands * ROUNDS:
        running = owing.start(
            *words,
            environment=COLD,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A test run in the background of a shell ignores interrupts, and would hand that on.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        deadline = time.monotonic() + PROGRAM_PATIENCE_S
        while not has_open(running, wal) and running.poll() is None:
            assert time.monotonic() < deadline, words
            os.sched_yield()
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=PROGRAM_PATIENCE_S)
        # 0: it was done already.
        assert running.returncode in (0, 130), (words, running.returncode, err)
        assert b"Traceback" not in err
    assert owing("verify").code == 0
