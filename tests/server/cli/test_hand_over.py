"""The hook at the end of a turn returns at once, and what it handed over is kept. Covers server.cli.hook_vaults."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from server.cli import hand_over
from tests.server.cli.command import Strongroom
from tests.work import PROGRAM_PATIENCE_S
from tests.working_day import WorkingDay

SAID = "Please use pnpm, not npm, in this repository from now on."


@pytest.fixture
def day(tmp_path: Path) -> WorkingDay:
    day = WorkingDay(tmp_path / "home")
    day.add("user", SAID)
    return day


def told(day: WorkingDay, **more: str) -> str:
    said = {"session_id": "5f0c2a4e", "cwd": str(day.home), "hook_event_name": "Stop", "transcript_path": str(day.path)}
    return json.dumps({**said, **more})


def kept(strongroom: Strongroom) -> int:
    found: int = strongroom("call", "transcripts", "{}", "--vault", "main").json["total"]
    return found


def wait_until_kept(strongroom: Strongroom) -> None:
    until = time.monotonic() + PROGRAM_PATIENCE_S
    while kept(strongroom) == 0:
        assert time.monotonic() < until, "what was handed over is not kept"


@pytest.mark.parametrize("options", [(), ("--vault", "main")])
def test_a_hook_hands_over_and_another_process_keeps(
    strongroom: Strongroom, day: WorkingDay, options: tuple[str, ...]
) -> None:
    strongroom("vault", "create", "main")
    ran = strongroom.process("hook", "stop", *options, stdin=told(day), HOME=str(day.home))
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    wait_until_kept(strongroom)


def test_it_goes_on_with_global_options_wherever_they_stand(tmp_path: Path, day: WorkingDay) -> None:
    elsewhere = Strongroom(tmp_path / "elsewhere")
    elsewhere("vault", "create", "main")
    ran = Strongroom(tmp_path / "data").process(
        "--data", str(elsewhere.data), "hook", "stop", stdin=told(day), HOME=str(day.home)
    )
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    wait_until_kept(elsewhere)


def test_the_work_itself_tells_what_went_wrong_and_keeps_it_for_later(strongroom: Strongroom, day: WorkingDay) -> None:
    strongroom("vault", "create", "main")
    wrong = told(day, transcript_path="/dev/zero")
    ran = strongroom("hook", "stop", "--wait", stdin=wrong, HOME=str(day.home))
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "strongroom hook: transcript_path is no transcript of a program that is known\n"
    log = strongroom.data / "harvest" / "hook.log"
    assert log.read_text().endswith(" transcript_path is no transcript of a program that is known\n")
    assert log.stat().st_mode & 0o077 == 0
    log.write_text("old\n" * 100_000)
    strongroom("hook", "stop", "--wait", stdin=wrong, HOME=str(day.home))
    assert log.stat().st_size < 64 * 1024


def test_what_a_whole_pass_leaves_out_is_not_handed_over_either(strongroom: Strongroom, day: WorkingDay) -> None:
    strongroom("vault", "create", "main")
    ran = strongroom(
        "hook", "stop", "--wait", stdin=told(day), HOME=str(day.home), STRONGROOM_HARVEST__EXCLUDE="day.jsonl"
    )
    assert (ran.code, ran.err) == (0, "")
    assert kept(strongroom) == 0
    sessions = strongroom("call", "session_history", "{}", "--vault", "main").out
    assert "pnpm" not in sessions


def test_where_a_person_is_to_be_asked_nothing_is_kept_unasked(strongroom: Strongroom, tmp_path: Path) -> None:
    day = WorkingDay(tmp_path / "home")
    day.say("I am on my own here: nothing was asked, so there is no session to be saved.")
    strongroom("vault", "create", "main", "--write-mode", "ask")
    ran = strongroom("hook", "stop", "--wait", stdin=told(day), HOME=str(day.home))
    assert (ran.code, ran.err) == (0, "")
    assert kept(strongroom) == 0


def test_a_secret_in_the_last_prompt_is_not_told_with_the_session(strongroom: Strongroom, day: WorkingDay) -> None:
    token = "ghp_" + "a1B2c3D4e5F6a7B8c9D0e1F2a3B4c5D6e7F8"
    strongroom("vault", "create", "main")
    day.add("user", f"Push with {token}, please.")
    ran = strongroom("hook", "stop", "--wait", stdin=told(day, hook_event_name="SessionEnd"), HOME=str(day.home))
    assert (ran.code, ran.err) == (0, "")
    sessions = strongroom("call", "session_history", "{}", "--vault", "main").out
    assert "Push with" in sessions
    assert token not in sessions


def test_a_later_whole_pass_adds_nothing(strongroom: Strongroom, day: WorkingDay) -> None:
    strongroom("vault", "create", "main")
    assert strongroom("hook", "stop", "--wait", stdin=told(day), HOME=str(day.home)).err == ""
    assert kept(strongroom) == 1
    again = strongroom("harvest", "--once", HOME=str(day.home))
    assert again.out == "0 new turns in 1 transcript; 0 memories stored or changed\n"


@pytest.mark.parametrize("stdin", ["", "[]", '{"a":', "[" * 100_000, "x" * (hand_over.INPUT_BYTES + 1)])
def test_what_is_no_hook_starts_nothing_and_stops_nobody(strongroom: Strongroom, stdin: str) -> None:
    ran = strongroom.process("hook", "stop", stdin=stdin, HOME=str(strongroom.data.parent))
    assert (ran.code, ran.out, ran.err) == (0, "", "strongroom hook: stdin is not the JSON of a hook\n")


def test_only_what_is_plain_goes_the_short_way() -> None:
    plain = ["hook", "stop"]
    assert hand_over.is_plain(plain)
    assert hand_over.is_plain([*plain, "--vault", "x", "--url=https://memory.example.org", "--token-file", "t"])
    for more in (["--wait"], ["--help"], ["--vault"], ["--vaults", "x"], ["--vault", "x", "extra"]):
        assert not hand_over.is_plain([*plain, *more]), more
    assert not hand_over.is_plain(["hook", "prompt"])


def test_wrong_usage_is_still_told(strongroom: Strongroom) -> None:
    assert strongroom.process("hook", "stop", "--vaults", "x", stdin="{}").code == 2


def test_of_one_transcript_one_process_waits_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hand_over, "LOCKS", str(tmp_path / "locks"))
    first = hand_over._take_place(b"day", ())
    assert first
    assert hand_over._take_place(b"day", ()) is None
    other = hand_over._take_place(b"another day", ())
    assert other
    os.close(first[0])  # it begins, and the next may wait
    second = hand_over._take_place(b"day", ())
    assert second
    for each in (first[1], *other, *second):
        os.close(each)


def test_locks_of_other_days_are_removed(tmp_path: Path) -> None:
    (tmp_path / "old").touch()
    os.utime(tmp_path / "old", (0, 0))
    (tmp_path / "new").touch()
    hand_over._tidy(str(tmp_path))
    assert [each.name for each in tmp_path.iterdir()] == ["new"]
    hand_over._tidy(str(tmp_path / "absent"))


def test_the_short_way_imports_none_of_what_takes_long(tmp_path: Path) -> None:
    """Which is what makes it quick; how quick is measured by ``bench``."""
    code = (
        "import sys; sys.argv = ['strongroom', 'hook', 'stop']; from server.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = {'typer', 'pydantic', 'asyncio', 'server.settings', 'vaults.errors', 'typing'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    ran = subprocess.run(
        [sys.executable, "-S", "-c", code],  # -S: what an environment imports at its start is not ours
        input=b"[]", capture_output=True, check=False, env={"PYTHONPATH": str(Path(__file__).parents[3])},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
