"""What ``strongroom connect`` wrote is what a client starts: the SDK's client runs it as the file says."""

from __future__ import annotations

import asyncio
import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from server.setup.clients.known_clients import CLIENTS, UserFolders
from tests.server.cli.command import ENVIRONMENT, Strongroom
from tests.work import PROGRAM_PATIENCE_S


def entry(client: str, home: Path) -> Any:
    known = CLIENTS[client]
    text = known.file(UserFolders(home, {})).read_text()
    content: Any = tomllib.loads(text) if known.format == "toml" else json.loads(text)
    for key in (*known.path, "strongroom"):
        content = content[key]
    return content


@pytest.mark.parametrize("client", ["claude-desktop", "codex", "opencode"])
async def test_a_client_starts_the_server_on_the_folder(client: str, tmp_path: Path) -> None:
    home, notes = tmp_path / "home", tmp_path / "notes"
    notes.mkdir()
    (notes / "deploys.md").write_text("# Deploys\n\nThey run at noon.\n")
    ran = Strongroom(tmp_path / "data")("connect", client, "--path", str(notes), HOME=str(home), XDG_CONFIG_HOME="")
    assert ran.code == 0, ran.err
    written = entry(client, home)
    command, *args = written["command"] if client == "opencode" else (written["command"], *written["args"])
    environment = {**ENVIRONMENT, "HOME": str(home), "STRONGROOM_TOKEN": "one for another server"}
    started = StdioServerParameters(command=command, args=args, env={**os.environ, **environment}, cwd=str(tmp_path))
    async with Client(started) as session, asyncio.timeout(PROGRAM_PATIENCE_S):
        found = ""
        while "deploys.md" not in found:  # a search waits only a moment for files that nobody has read yet
            answer = await session.call_tool("search", {"query": "deploys noon", "mode": "keyword"})
            assert not answer.is_error, answer
            found = str(answer.structured_content)
