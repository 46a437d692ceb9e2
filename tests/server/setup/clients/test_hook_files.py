"""Hooks in the files of clients: server.setup.clients.hook_files, server.setup.clients.hook_lists,
server.setup.clients.hook_plugin, server.setup.clients.hooked_clients, server.setup.clients.config_edits,
server.cli.connect_hooks, server.cli.connection_reports and server.cli.wanted_server."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from server.hook_dialects import DIALECTS
from server.setup.clients.config_edits import undo_edit, write_edit
from server.setup.clients.hook_files import HOOK_CLIENTS, HookSetup, hook_setup
from server.setup.clients.hooked_clients import HOOKED
from server.setup.clients.known_clients import CLIENTS, UserFolders
from tests.server.cli.command import Strongroom
from vaults.errors import Conflict, NotFound

COMMAND = "/opt/my bin/strongroom"
LISTED = tuple(HOOKED)
THEIRS = {
    "claude-code": {"matcher": "startup", "hooks": [{"type": "command", "command": "strongroom-notes hook start"}]},
    "codex": {"matcher": "startup", "hooks": [{"type": "command", "command": "python3 ~/.codex/hooks/start.py"}]},
    "cursor": {"command": "./hooks/audit.sh", "matcher": "Shell"},
    "gemini-cli": {"matcher": "startup", "hooks": [{"name": "a", "type": "command", "command": "./a.sh"}]},
}
FILE = """// mine
{{
  "theme": "dark", // stays
  "hooks": {{
    "{event}": [
      {theirs}
    ],
    "PreToolUse": [ {{ /* a comment */ "command": "x" }} ]
  }}
}}
"""


def setup_of(client: str, home: Path, *options: str) -> HookSetup:
    return hook_setup(client, UserFolders(home, {}, "linux"), COMMAND, options)


def theirs(client: str) -> str:
    return FILE.format(event=next(iter(HOOKED[client].events)), theirs=json.dumps(THEIRS[client]))


def written(setup: HookSetup, text: str | None = None) -> dict[str, Any]:
    if text is not None:
        setup.file.parent.mkdir(parents=True, exist_ok=True)
        setup.file.write_text(text)
    write_edit(setup.edit, setup.file, setup.entry)
    found: dict[str, Any] = setup.edit.read(setup.file.read_text())
    return found


def commands(hooks: Any) -> list[str]:
    """All commands below, in order."""
    if isinstance(hooks, list):
        return [each for hook in hooks for each in commands(hook)]
    return [hooks["command"]] if "command" in hooks else commands(hooks["hooks"])


def test_every_client_with_a_dialect_can_be_given_hooks_and_each_hook_is_a_command() -> None:
    assert set(HOOK_CLIENTS) == set(DIALECTS) <= set(CLIENTS)


@pytest.mark.parametrize("client", LISTED)
def test_hooks_stand_where_the_client_looks_and_run_our_command(client: str, tmp_path: Path) -> None:
    setup = setup_of(client, tmp_path, "--vault", "main")
    content = written(setup)
    for event, ours in HOOKED[client].events.items():
        (line,) = commands(content["hooks"][event])
        tail = "" if sys.platform == "win32" else " || true"
        assert line == f"'{COMMAND}' hook {ours} --client {client} --vault main{tail}"
    assert setup.edit.read(setup.show()) == content
    if client == "cursor":
        assert content["version"] == 1
    if client == "gemini-cli":
        assert content["hooks"]["BeforeAgent"][0]["hooks"][0]["timeout"] == 5000, "milliseconds"
    assert write_edit(setup.edit, setup.file, setup.entry).outcome == "unchanged"
    assert undo_edit(setup.edit, setup.file).outcome == "deleted"
    with pytest.raises(NotFound):
        undo_edit(setup.edit, setup.file)


@pytest.mark.parametrize("client", LISTED)
def test_hooks_of_others_stay_and_undoing_gives_the_very_bytes_back(client: str, tmp_path: Path) -> None:
    setup, text = setup_of(client, tmp_path), theirs(client)
    content = written(setup, text)
    first = next(iter(HOOKED[client].events))
    assert content["hooks"][first][0] == THEIRS[client]
    assert len(content["hooks"][first]) == 2
    assert "/* a comment */" in setup.file.read_text()
    other = setup_of(client, tmp_path, "--vault", "boat")
    again = written(other)
    assert [" --vault boat" in each for each in commands(again["hooks"][first])] == [False, True]
    assert undo_edit(other.edit, setup.file).outcome == "restored"
    assert setup.file.read_text() == text


@pytest.mark.parametrize("client", LISTED)
def test_where_the_client_wrote_since_only_our_hooks_go(client: str, tmp_path: Path) -> None:
    setup = setup_of(client, tmp_path)
    written(setup, theirs(client))
    setup.file.write_text(setup.file.read_text().replace("dark", "light"))
    assert undo_edit(setup.edit, setup.file).outcome == "removed"
    left = setup.edit.read(setup.file.read_text())
    assert left["hooks"] == setup.edit.read(theirs(client))["hooks"]
    assert left["theme"] == "light"


@pytest.mark.parametrize(
    "text", ['{"hooks": []}', '{"hooks": {"SessionStart": {}}}', '{"hooks": {"SessionStart": [ /* why */ ]}}', "{"]
)
def test_a_file_that_cannot_be_edited_safely_is_left_alone(text: str, tmp_path: Path) -> None:
    setup = setup_of("codex", tmp_path)
    with pytest.raises(Conflict):
        written(setup, text)
    assert setup.file.read_text() == text


def test_a_plugin_of_somebody_else_is_neither_replaced_nor_removed(tmp_path: Path) -> None:
    setup = setup_of("opencode", tmp_path)
    with pytest.raises(Conflict):
        written(setup, "export const Mine = async () => ({})\n")
    with pytest.raises(Conflict):
        undo_edit(setup.edit, setup.file)
    setup.file.unlink()
    written(setup)
    assert undo_edit(setup.edit, setup.file).outcome == "deleted"


TRY = """
import { Strongroom } from "./strongroom.js"
const hooks = await Strongroom({ directory: "/work" })
const output = { message: { id: "msg_1" }, parts: [{ type: "text", text: "when do deploys run?" }] }
await hooks["chat.message"]({ sessionID: "ses_1" }, output)
await hooks["chat.message"]({ sessionID: "ses_1" }, output)
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "ses_1" } } })
console.log(JSON.stringify(output.parts))
"""
FAKE = """#!/bin/sh
said=$(cat)
echo "$* $said" >> "$0.log"
case "$2" in session-start) echo '{"context": "a brief"}';; prompt) echo '{"context": "on Monday"}';; esac
"""


@pytest.mark.skipif(shutil.which("node") is None or sys.platform == "win32", reason="node is not installed")
def test_the_plugin_adds_a_brief_once_and_memories_to_each_prompt(tmp_path: Path) -> None:
    fake = tmp_path / "strongroom"
    fake.write_text(FAKE)
    fake.chmod(0o700)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "try.js").write_text(TRY)
    setup = hook_setup("opencode", UserFolders(tmp_path, {}, "linux"), str(fake), ["--vault", "main"])
    (tmp_path / "strongroom.js").write_text(setup.show())
    ran = subprocess.run(["node", "try.js"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    parts = json.loads(ran.stdout)
    added = [part for part in parts if part.get("synthetic")]
    assert [part["text"] for part in added] == ["a brief", "on Monday", "on Monday"], ran.stderr
    assert {(part["type"], part["messageID"], part["sessionID"]) for part in added} == {("text", "msg_1", "ses_1")}
    asked = sorted(line.partition(" {") for line in (tmp_path / "strongroom.log").read_text().splitlines())
    assert [words for words, _, _ in asked] == [
        f"hook {event} --client opencode --vault main" for event in ("prompt", "prompt", "session-start", "stop")
    ]
    said = json.loads("{" + asked[0][2])
    assert (said["session_id"], said["cwd"], said["prompt"]) == ("ses_1", "/work", "when do deploys run?")


def test_the_command_writes_shows_and_takes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    strongroom, path = Strongroom(tmp_path / "data"), tmp_path / ".codex" / "hooks.json"
    shown = strongroom("connect", "codex", "--hooks", "--print", "--vault", "boat", HOME=str(tmp_path))
    assert not path.exists()
    ran = strongroom("connect", "codex", "--hooks", "--vault", "boat", HOME=str(tmp_path))
    assert ran.out.startswith(f"wrote {path}\n"), ran.err
    assert "/hooks" in ran.out
    assert json.loads(path.read_text()) == shown.json
    assert f"--data {strongroom.data} --vault boat" in path.read_text()
    assert strongroom("connect", "codex", "--hooks", "--undo", HOME=str(tmp_path)).code == 0
    assert not path.exists()
    for wrong in (
        ("zed",), ("codex", "--path", str(tmp_path)), ("codex", "--url", "https://h"), ("codex", "--vault", "my notes"),
    ):  # fmt: skip
        assert strongroom("connect", "--hooks", *wrong, HOME=str(tmp_path)).code == 2, wrong
    token = ("--url", "https://h", "--token-file", "/t")
    remote = strongroom("connect", "cursor", "--hooks", "--print", *token, HOME=str(tmp_path))
    assert "--url https://h/v/main/mcp --token-file /t" in remote.out
