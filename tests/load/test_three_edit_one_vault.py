"""A person and two agents edit one vault at a time: what each of them wrote is there, or is said to be written over."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.noted import folder, put
from tests.work import PATIENCE_S
from vaults.db.connection import Database
from vaults.domain.notes.index.extraction import compute_digest
from vaults.settings import StorageSettings

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "tests" / "conformance" / "fixture_server.py"
SECONDS = float(os.environ.get("STRONGROOM_LOAD_SECONDS", "60"))
NOTES = 4
TEXT = "# Note {n}\n\nSee [[note{next}]].\n\n## Log\n\n- first\n\n## End\n\nlast\n"
TOKEN = re.compile(r"\b(?:agent|person)\d+x\d+\b")
REFUSED = {"conflict", "not_found", "already_exists", "overloaded", "invalid_argument"}
"""What an agent may be told while others move and save under its hands."""


def started(*command: str, **options: Any) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STRONGROOM_")}
    environment["PYTHONPATH"] = str(ROOT)
    command = (sys.executable, *command)
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, **options)


@asynccontextmanager
async def serving(data: Path, log: Path) -> AsyncIterator[tuple[str, str]]:
    """A server process; its URL and a token. It must end in good order."""
    with log.open("wb") as errors:
        process = started(str(SERVER), str(data), "plain", "1", "main", stderr=errors)
    assert process.stdout is not None
    try:
        said = json.loads(await asyncio.to_thread(process.stdout.readline))
        yield said["url"], said["token"]
    finally:
        process.send_signal(signal.SIGTERM)
        with process.stdout:
            code = await asyncio.to_thread(process.wait, PATIENCE_S)
    assert code == 0, log.read_text()


class Agent:
    """An MCP client that edits notes. ``said``: its acknowledged words, with the change that brought them."""

    def __init__(self, client: Client, number: int) -> None:
        self.said: dict[str, str] = {}
        self.refused = 0
        self._client = client
        self._name = f"agent{number}"
        self._order = random.Random(number)

    async def call(self, tool: str, **arguments: Any) -> Mapping[str, Any]:
        answer = await self._client.call_tool(tool, arguments)
        content: Mapping[str, Any] = answer.structured_content
        if "error" in content:
            assert content["error"]["code"] in REFUSED, content
        return content

    async def work(self, until: float) -> None:
        count = 0
        while time.monotonic() < until:
            word = f"{self._name}x{count}"
            count += 1
            content = await self._edit(word)
            if content.get("change"):
                self.said[word] = content["change"]
            self.refused += "error" in content
            await asyncio.sleep(self._order.uniform(0, 0.05))

    async def _edit(self, word: str) -> Mapping[str, Any]:
        listed = await self.call("find_notes", limit=50)
        paths = [note["path"] for note in listed["notes"] if ".conflict-" not in note["path"]]
        path = self._order.choice(paths)
        match self._order.randrange(10):
            case 0:
                to = path.removeprefix("moved/") if path.startswith("moved/") else f"moved/{path}"
                await self.call("note_move", path=path, to=to)
                return {}
            case 1 | 2:
                return await self.call("frontmatter_update", path=path, set={f"k{word}": word})
            case 3:
                return await self.call("note_edit", path=path, content=f"{word}", position="prepend")
            case _:
                return await self.call(
                    "note_edit", path=path, section="Log", content=word, format="bullet", create_section=True
                )


async def _written_over(agent: Agent) -> set[str]:
    """Changes that the history says a program outside wrote over."""
    found: set[str] = set()
    page: dict[str, Any] = {}
    while True:
        listed = await agent.call("history", action="log", limit=200, **page)
        found |= {each["id"] for each in listed["changes"] if each.get("overwritten")}
        if not listed.get("cursor"):
            return found
        page = {"before": listed["cursor"]}


async def _unsaid(agent: Agent, lost: Mapping[str, str]) -> set[str]:
    """Words that are gone without the history saying so: it compares versions behind the saves, so it may take a
    moment."""
    silent = set(lost)
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            while silent:
                over = await _written_over(agent)
                silent = {word for word, change in lost.items() if change not in over}
                await asyncio.sleep(0.1)
    return silent


def _words(root: Path) -> set[str]:
    files = [path for path in root.rglob("*.md") if not path.name.startswith(".")]
    return {word for path in files for word in TOKEN.findall(path.read_text())}


async def _indexed(data: Path, root: Path) -> None:
    """Until the rows say what the files say, which must be soon."""
    database = Database(data / "vaults" / "main" / "vault.db", StorageSettings())
    try:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                rows = dict(await database.read(lambda tx: tx.all("SELECT path, hash FROM notes")))
                files = {
                    str(path.relative_to(root)): compute_digest(path.read_bytes())
                    for path in root.rglob("*.md")
                    if path.is_file()
                }
                if rows == files:
                    return
                differing = {path for path in rows.keys() | files.keys() if rows.get(path) != files.get(path)}
                await asyncio.sleep(0.1)
    except TimeoutError:
        pytest.fail(f"the index does not follow {differing}")
    finally:
        await database.close()


async def _come_to_light(root: Path, words: set[str]) -> None:
    """Words written late into files that were replaced are put beside the notes after a while."""
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            while words - _words(root):  # noqa: ASYNC110  files tell nobody
                await asyncio.sleep(0.1)


async def _edit_together(tmp_path: Path, seconds: float) -> None:
    data = tmp_path / "data"
    root = folder(data)
    put(root, {f"note{n}.md": TEXT.format(n=n, next=(n + 1) % NOTES) for n in range(NOTES)})
    async with serving(data, tmp_path / "log") as (url, token), AsyncExitStack() as stack:
        agents = [Agent(await _client(stack, url, token), number) for number in (1, 2)]
        person = started("-m", "tests.load.person", str(root), str(seconds), "7")
        until = time.monotonic() + seconds
        await asyncio.gather(*(agent.work(until) for agent in agents))
        typed, _ = await asyncio.to_thread(person.communicate)
        assert person.returncode == 0
        await _indexed(data, root)
        await _come_to_light(root, set(typed.split()))
        await _indexed(data, root)
        there = _words(root)
        said = {**agents[0].said, **agents[1].said}
        silent = await _unsaid(agents[0], {word: said[word] for word in said if word not in there})
    assert len(said) > 5 * seconds / 10
    assert typed.split()
    assert not set(typed.split()) - there, "a person's words are nowhere"
    assert not silent, f"agents' words are nowhere, and nobody says so: {silent}"
    verifying = started("-m", "server", "verify", "--data", str(data), stderr=subprocess.STDOUT)
    told, _ = await asyncio.to_thread(verifying.communicate)
    assert verifying.returncode == 0, told
    assert not list(root.rglob(".strongroom-*"))


async def _client(stack: AsyncExitStack, url: str, token: str) -> Client:
    headers = {"authorization": f"Bearer {token}"}
    http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S))
    return await stack.enter_async_context(
        Client(streamable_http_client(f"{url}?tools=notes", http_client=http), cache=None)
    )


async def test_a_person_and_two_agents_lose_no_edit_in_seconds(tmp_path: Path) -> None:
    await _edit_together(tmp_path, 5)


@pytest.mark.load
async def test_a_person_and_two_agents_lose_no_edit_in_a_minute(tmp_path: Path) -> None:
    await _edit_together(tmp_path, SECONDS)
