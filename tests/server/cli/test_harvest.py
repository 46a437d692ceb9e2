"""``strongroom harvest``, as a person runs it."""

from __future__ import annotations

from pathlib import Path

from tests.server.cli.command import Strongroom
from tests.working_day import WorkingDay


def test_one_pass_stores_what_is_new(strongroom: Strongroom, tmp_path: Path) -> None:
    day = WorkingDay(tmp_path / "home")
    day.add("user", "Please use pnpm, not npm, in this repository from now on.")
    strongroom("vault", "create", "main")
    ran = strongroom("harvest", "--vault", "main", "--once", HOME=str(day.home))
    assert (ran.code, ran.out) == (0, "1 new turns in 1 transcripts; 1 memories stored or changed\n"), ran.err
    assert strongroom("harvest", "--vault", "nowhere", "--once").code == 1
    wrong = strongroom("harvest", "--vault", "main", "--once", "--remember", "dreams", HOME=str(day.home))
    assert (wrong.code, "there are codebase, command, decision" in wrong.err) == (2, True)
