"""``strongroom connect``, as a person runs it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from server.cli.connect import connect
from server.cli.connection_reports import OUTCOMES
from server.setup.clients.known_clients import CLIENTS
from tests.server.cli.command import Strongroom

URL = "https://memory.example.org"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


def test_a_folder_is_served_by_what_the_client_starts(strongroom: Strongroom, home: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    ran = strongroom("connect", "cursor", "--path", str(notes), HOME=str(home))
    path = home / ".cursor" / "mcp.json"
    assert (ran.code, ran.out) == (0, f"wrote {path}\n"), ran.err
    entry = json.loads(path.read_text())["mcpServers"]["strongroom"]
    assert entry["args"] == ["stdio", "--path", str(notes)]
    again = strongroom("connect", "cursor", "--path", str(notes), HOME=str(home))
    assert again.out == f"{path} says so already\n"
    other = strongroom("connect", "cursor", "--vault", "boat", HOME=str(home))
    assert other.code == 0, other.err
    entry = json.loads(path.read_text())["mcpServers"]["strongroom"]
    assert entry["args"] == ["stdio", "--data", str(strongroom.data), "--vault", "boat"]
    undone = strongroom("connect", "cursor", "--undo", HOME=str(home))
    assert undone.out == f"removed {path}, which held nothing else\n", undone.err
    assert strongroom("connect", "cursor", "--undo", HOME=str(home)).code == 1


def test_what_names_no_vault_is_told_before_the_client_finds_out(strongroom: Strongroom, home: Path) -> None:
    for more in ((), ("--url", URL)):
        refused = strongroom("connect", "cursor", "--vault", "my notes", *more, HOME=str(home))
        assert (refused.code, "--vault" in refused.err) == (2, True)
    assert not (home / ".cursor").exists()


@pytest.mark.parametrize("secret", ["https://me:sk-1@h", "https://h/v/x/mcp?token=sk-1", "https://h/#sk-1"])
def test_a_secret_in_the_address_is_not_written(strongroom: Strongroom, home: Path, secret: str) -> None:
    refused = strongroom("connect", "cursor", "--url", secret, HOME=str(home))
    assert (refused.code, "sk-1" in refused.out + refused.err) == (2, False)
    assert not (home / ".cursor").exists()


def test_a_server_is_reached_by_variable_or_by_file_and_no_token_is_written(
    strongroom: Strongroom, home: Path, tmp_path: Path
) -> None:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text('model = "m"\n')
    ran = strongroom("connect", "codex", "--url", URL, "--vault", "research", HOME=str(home))
    assert ran.code == 0, ran.err
    assert "Codex reads the token from STRONGROOM_TOKEN" in ran.out
    assert f"what it was before: {path}.before-strongroom" in ran.out
    entry = {"url": f"{URL}/v/research/mcp", "bearer_token_env_var": "STRONGROOM_TOKEN"}
    assert tomllib.loads(path.read_text())["mcp_servers"] == {"strongroom": entry}
    token = tmp_path / "token"
    token.write_text("ey.secret")
    desktop = ("connect", "claude-desktop", "--url", URL, "--print")
    refused = strongroom(*desktop, HOME=str(home))
    assert (refused.code, "--token-file is needed" in refused.err) == (2, True)
    shown = strongroom(*desktop, "--token-file", str(token), HOME=str(home))
    args = ["stdio", "--url", f"{URL}/v/main/mcp", "--token-file", str(token)]
    assert shown.json["mcpServers"]["strongroom"]["args"] == args
    assert "claude_desktop_config.json" in shown.err
    assert "secret" not in shown.out + shown.err
    assert list((home / ".codex").iterdir()) != []
    assert sorted(each.name for each in home.iterdir()) == [".codex"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["emacs"], "CLIENT must be one of claude-code, claude-desktop"),
        (["cursor", "--name", "a b"], "--name must be"),
        (["cursor", "--path", "."], "--path and --url exclude"),
        (["cursor", "--token-env", "ey.secret"], "--token-env must be the name of a variable"),
        (["cursor", "--token-env", "STRONGROOM_TEAM"], "STRONGROOM_… are settings"),
        (["cursor", "--url", "ftp://x"], "--url must be"),
    ],
)
def test_what_makes_no_sense_is_refused(strongroom: Strongroom, home: Path, words: list[str], message: str) -> None:
    ran = strongroom("connect", "--url", URL, *words, HOME=str(home))
    assert (ran.code, message in ran.err) == (2, True), ran.err
    assert not home.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--path", "/nowhere"], "--path /nowhere is not a folder"),
        (["--path", ".", "--vault", "boat"], "--path and --vault exclude"),
        (["--token-file", "token"], "--url is missing"),
    ],
)
def test_what_makes_no_sense_here_is_refused(
    strongroom: Strongroom, home: Path, words: list[str], message: str
) -> None:
    ran = strongroom("connect", "cursor", *words, HOME=str(home))
    assert (ran.code, message in ran.err) == (2, True), ran.err


def test_what_a_client_with_the_token_starts_does_not_take_it_for_a_setting(strongroom: Strongroom) -> None:
    ran = strongroom("config", "check", STRONGROOM_TOKEN="ey.secret")
    assert ran.code == 0, ran.err
    assert "secret" not in ran.out + ran.err


def test_the_help_names_every_client_and_each_outcome_has_words() -> None:
    described = str(connect.__annotations__["client"])
    assert [name for name in CLIENTS if name not in described] == []
    assert set(OUTCOMES) == {"connected", "unchanged", "restored", "removed", "deleted"}
