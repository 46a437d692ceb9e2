"""``strongroom evict``, as docs/storage.md has it.

Covers server.cli.evictions, vaults.domain.maintenance.eviction_outlook.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.command import ROOT, Ran, Strongroom

PAGE = ROOT / "docs" / "storage.md"
COMMANDS = re.findall(r"^strongroom (evict.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
OLD = "2020-01-01T00:00:00Z"


def limits(**more: str) -> dict[str, str]:
    return {f"STRONGROOM_STORAGE__{name.upper()}": value for name, value in more.items()}


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Vault research with a session's transcript in a file of Claude Code's, which is no business of an eviction."""
    folder = tmp_path_factory.mktemp("ground")
    strongroom = Strongroom(folder / "data")
    assert strongroom("vault", "create", "research").code == 0
    lines: list[dict[str, Any]] = [
        {"kind": "document", "format": "transcript", "external_id": f"s{n}", "title": f"Session {n}",
         "created_at": OLD, "modified_at": OLD, "parts": [{"text": f"harbour {n} " * 400, "at": OLD}]}
        for n in range(4)
    ]  # fmt: skip
    file = folder / "sessions.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = strongroom("import", "jsonl", str(file), "--vault", "research")
    assert done.code == 0, done.err
    return folder


@pytest.fixture
def filled(ground: Path, strongroom: Strongroom, tmp_path: Path) -> Strongroom:
    shutil.copytree(ground, tmp_path, dirs_exist_ok=True)
    return strongroom


SMALL = limits(kinds='{"transcript": {"max_size": "9KB"}}')


def test_each_command_of_the_page_runs(filled: Strongroom) -> None:
    assert len(COMMANDS) > 6
    for command in COMMANDS:
        ran = filled(*shlex.split(command), **SMALL)
        assert ran.code == 0, (command, ran.err)


def test_a_dry_run_says_what_would_go_and_changes_nothing(filled: Strongroom) -> None:
    for _ in range(2):
        told = filled("evict", "--dry-run", "--vault", "research", "--json", **SMALL).json["vaults"][0]
        assert [each["title"] for each in told["would_go"]] == ["Session 0", "Session 1"]
        assert {each["reason"] for each in told["would_go"]} == {"max_size"}
    shown = filled("evict", "--dry-run", **SMALL).out
    assert "2 transcripts would go" in shown
    assert "Session 1" in shown
    assert "no limit is set" in filled("evict", "--dry-run").out


def test_what_went_is_in_the_log_and_comes_back(filled: Strongroom, tmp_path: Path) -> None:
    original = (tmp_path / "sessions.jsonl").read_bytes()
    assert "2 transcripts" in filled("evict", "--vault", "research", **SMALL).out
    assert (tmp_path / "sessions.jsonl").read_bytes() == original, "original session JSON never touched"
    log = filled("evict", "--log", "--vault", "research", "--json").json["vaults"][0]["log"]
    assert [(each["title"], each["kept"]) for each in log] == [("Session 1", True), ("Session 0", True)]
    status = filled("call", "status", "--vault", "research", **SMALL).json["eviction"]
    assert status["gone"] == 2
    assert "2 came back" in filled("evict", "--undo", "--vault", "research").out
    assert filled("call", "fetch", json.dumps({"id": log[0]["id"]}), "--vault", "research").code == 0
    assert "nothing came back" in filled("evict", "--undo", "--vault", "research").out


def test_a_limit_that_cannot_be_kept_is_said_and_the_command_fails(filled: Strongroom) -> None:
    ran = filled("evict", **limits(max_size="2KB"))
    assert ran.code == 1
    assert "max_size cannot be kept" in ran.out
    checks = filled("doctor", "--json", **limits(max_size="2KB")).json["checks"]
    (check,) = (each for each in checks if each["name"] == "storage_limits")
    assert check["status"] == "warning"


def test_other_commands_let_nothing_go(filled: Strongroom) -> None:
    filled("call", "status", "--vault", "research", **limits(max_size="2KB"))
    assert filled("evict", "--log", "--json").json["vaults"][0]["log"] == []


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(["--undo"], "--vault"), (["--undo", "--log", "--vault", "research"], "exclude"), (["--vault", "nope"], "nope")],
)
def test_what_cannot_be_meant_is_refused(filled: Strongroom, arguments: list[str], named: str) -> None:
    ran = filled("evict", *arguments)
    assert ran.code != 0
    assert named in ran.err


def _warned(ran: Ran) -> list[str]:
    return [line for line in ran.err.splitlines() if "the default is used" in line]


def test_invalid_values_use_the_default_and_are_said_once(strongroom: Strongroom) -> None:
    ran = strongroom("config", "show", "--json", **limits(max_size="banana", retention="3m", min_free_disk="-1"))
    assert ran.code == 0, ran.err
    assert len(_warned(ran)) == 3
    assert any('"banana"' in line for line in _warned(ran))


def test_partial_config_is_fine(strongroom: Strongroom) -> None:
    ran = strongroom("config", "check", **limits(retention="90d"))
    assert (ran.code, _warned(ran)) == (0, [])
