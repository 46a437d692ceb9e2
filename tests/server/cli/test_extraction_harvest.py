"""The model that the settings name, and what ``strongroom harvest`` says of it.

Covers server.cli.harvest_reports, server.extraction_model.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.cli.harvest_reports import ShownReports
from server.extraction_model import open_model
from server.settings import command_environment, load
from tests.server.cli.command import Strongroom
from tests.vaults.transcripts.model_extraction.completions import Completions, memory
from tests.working_day import WorkingDay
from vaults.domain.import_export.harvesting import HarvestReport
from vaults.errors import InvalidArgument
from vaults.settings import ExtractionSettings
from vaults.transcripts.harvest import HarvestTally
from vaults.transcripts.model_extraction.model_command import ModelCommand
from vaults.transcripts.model_extraction.model_endpoint import ModelEndpoint
from vaults.transcripts.model_extraction.model_kinds import MODEL_KINDS

URL = "http://127.0.0.1:9/v1"


@pytest.fixture
def completions() -> Iterator[Completions]:
    running = Completions()
    yield running
    running.close()


@pytest.fixture
def day(tmp_path: Path) -> WorkingDay:
    """One that was quiet for long."""
    found = WorkingDay(tmp_path / "home")
    found.add("user", "Please use pnpm, not npm, in this repository from now on.")
    os.utime(found.path, (0, 0))
    return found


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"command": ["a"], "url": URL, "model": "m"}, ("extraction.command", "extraction.url")),
        ({"url": URL}, ("extraction.url", "extraction.model")),
        ({"model": "m"}, ("extraction.url", "extraction.model")),
        ({"command": ["a"], "api_key": "k"}, ("extraction.api_key", "extraction.url")),
        ({"url": URL, "model": "m", "api_key": "k", "api_key_file": "f"}, ("extraction.api_key", "api_key_file")),
        ({"url": "ftp://x", "model": "m"}, ("url",)),
        ({"url": "http://models.example/v1", "model": "m", "api_key": "k"}, ("extraction.url", "https")),
        ({"max_tokens_a_day": 100}, ("extraction.max_tokens_a_day", "extraction.max_characters")),
        ({"command": [""]}, ("extraction.command",)),
    ],
)
def test_what_does_not_go_together_is_refused_at_the_start(
    tmp_path: Path, given: dict[str, Any], named: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidArgument) as refused:
        load(tmp_path, flags={f"extraction.{name}": value for name, value in given.items()}, environment={})
    assert "\n" not in refused.value.message
    for name in named:
        assert name in refused.value.message


def test_both_in_the_environment_are_refused_in_one_line(strongroom: Strongroom) -> None:
    both = {"COMMAND": '["claude", "-p"]', "URL": URL, "MODEL": "small"}
    ran = strongroom("config", "check", **{f"STRONGROOM_EXTRACTION__{name}": value for name, value in both.items()})
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "extraction may not have both extraction.command and extraction.url" in ran.err


def test_nobody_is_asked_unless_somebody_is_named(tmp_path: Path) -> None:
    assert open_model(ExtractionSettings(), tmp_path, MODEL_KINDS) is None
    assert open_model(ExtractionSettings(command=("claude", "-p")), tmp_path, ()) is None


def test_a_key_may_stand_in_a_file(tmp_path: Path) -> None:
    key = tmp_path / "key"
    settings = ExtractionSettings(url=URL, model="small", api_key_file=str(key))
    for text in (None, b"", b"two\nlines", b"\xff", "schlüssel".encode()):
        if text is not None:
            key.write_bytes(text)
        with pytest.raises(InvalidArgument, match=r"extraction\.api_key_file"):
            open_model(settings, tmp_path, MODEL_KINDS)
    key.write_text("sk-1\n")
    setup = open_model(settings, tmp_path, MODEL_KINDS)
    assert setup is not None
    assert isinstance(setup.model, ModelEndpoint)
    assert setup.model.api_key == "sk-1"
    assert "sk-1" not in repr(setup) + repr(ExtractionSettings(url=URL, model="m", api_key="sk-1"))


def test_a_command_gets_what_it_needs_and_what_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITY", "Hamburg")
    monkeypatch.setenv("STRONGROOM_TOKEN_FILE", "x")
    assert "CITY" not in command_environment(())
    setup = open_model(ExtractionSettings(command=("x",), pass_environment=("CITY", "NONE")), tmp_path, MODEL_KINDS)
    assert setup is not None
    assert isinstance(setup.model, ModelCommand)
    assert setup.model.environment["CITY"] == "Hamburg"
    assert {"STRONGROOM_TOKEN_FILE", "NONE"}.isdisjoint(setup.model.environment)
    assert "PATH" in setup.model.environment


def test_a_harvest_asks_the_endpoint(strongroom: Strongroom, day: WorkingDay, completions: Completions) -> None:
    completions.say(memory(), memory(turns=[7]))
    strongroom("vault", "create", "main")
    set_to = {"URL": completions.base, "MODEL": "small", "API_KEY": "sk-1"}
    environment = {f"STRONGROOM_EXTRACTION__{name}": value for name, value in set_to.items()}
    ran = strongroom("harvest", "--vault", "main", "--once", HOME=str(day.home), **environment)
    assert (ran.code, ran.out.splitlines()) == (
        0,
        [
            "1 new turn in 1 transcript; 1 memory stored or changed",
            "the model was asked 1 time and made 1 memory",
        ],
    )
    assert ran.err == "left out of an answer of the model: turns: there are none such (1)\n"
    assert completions.heads[0][1]["authorization"] == "Bearer sk-1"
    assert "sk-1" not in strongroom("config", "show", **environment).out


def test_a_harvest_asks_the_command(strongroom: Strongroom, day: WorkingDay) -> None:
    answer = json.dumps({"memories": [memory()]})
    strongroom("vault", "create", "main")
    command = json.dumps([sys.executable, "-c", f"print({answer!r})"])
    ran = strongroom("harvest", "--vault", "main", "--once", HOME=str(day.home), STRONGROOM_EXTRACTION__COMMAND=command)
    assert (ran.code, ran.err) == (0, "")
    assert "made 1 memory" in ran.out
    failing = json.dumps([sys.executable, "-c", "print('chat')"])
    day.say("We keep tide tables in SQLite.")
    os.utime(day.path, (1, 1))
    ran = strongroom("harvest", "--vault", "main", "--once", HOME=str(day.home), STRONGROOM_EXTRACTION__COMMAND=failing)
    assert ran.err == "no use in an answer of the model, rules instead: the answer is not JSON (1)\n"


def test_kinds_only_a_model_makes_need_one(strongroom: Strongroom, day: WorkingDay) -> None:
    strongroom("vault", "create", "main")
    ran = strongroom("harvest", "--vault", "main", "--once", "--remember", "pattern", HOME=str(day.home))
    assert (ran.code, "extraction.command" in ran.err) == (2, True)


def test_that_conversations_wait_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    shown, report = ShownReports(quiet=True), HarvestReport(HarvestTally())
    report.extraction.waiting = 3
    for _ in range(3):
        shown.show(report)
    assert capsys.readouterr().err.count("3 conversations wait for tomorrow") == 1
