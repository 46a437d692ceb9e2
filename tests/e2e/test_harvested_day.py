"""A working day nobody saves, over HTTP: a conversation grows line by line, no tool is called, and next morning the
vault knows what was decided, what failed, and every sentence. The harvest is killed and its token revoked meanwhile."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from auth.roles import Role
from tests.e2e.test_working_day import asking, sleep_over
from tests.server.cli.command import Strongroom
from tests.server.http.serving import Ground, Site, enveloped, raw, served
from tests.work import PROGRAM_PATIENCE_S
from tests.working_day import WorkingDay

PREFERENCE = "Please use pnpm, not npm, in this repository from now on."
DECISION = "We decided to keep tide tables in SQLite instead of a JSON file because they must be queried by day."
LAST = "The lighthouse keeper asked for a dimmer lamp, and that is all for today."
PRIVATE = "The anniversary present is hidden in the boathouse."


async def tokens(ground: Ground) -> dict[str, str]:
    first = await ground.token("ada", Role.WRITER, "main")
    return {"ada": first, "ada again": await ground.token("ada", Role.WRITER, "main")}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with served(tmp_path / "server", prepare=tokens) as running:
        yield running


@pytest.fixture
def day(tmp_path: Path) -> WorkingDay:
    """A whole home folder: today's conversation is one of several, and one of them is nobody's business."""
    home = tmp_path / "home"
    (home / "work" / "harbour").mkdir(parents=True)
    private = home / "private"
    private.mkdir()
    (private / ".strongroomignore").write_text("*\n")
    WorkingDay(home, str(private), "private").add("user", PRIVATE)
    WorkingDay(home, str(home / "work"), "earlier").add("user", "Which boats came in yesterday?")
    (home / ".codex" / "sessions").mkdir(parents=True)
    (home / ".codex" / "sessions" / "rollout-broken.jsonl").write_bytes(b"\xff\xfe not a line\n" * 3)
    return WorkingDay(home, str(home / "work" / "harbour"))


class Harvesting:
    """``strongroom harvest --url`` as a program of its own, which goes on until it is ended."""

    def __init__(self, site: Site, day: WorkingDay) -> None:
        self.token = day.home / "token"
        self.token.write_text(site.tokens["ada"])
        self._argv = ("harvest", "--url", site.url, "--token-file", str(self.token))
        self._strongroom = Strongroom(day.home.parent / "here")
        self._environment = {"HOME": str(day.home)}
        self._said = day.home.parent / "said"

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """In the end it is killed, without a chance to clear up."""
        with self._said.open("ab") as said:
            process = self._strongroom.start(*self._argv, environment=self._environment, stdout=said, stderr=said)
        try:
            yield process
            assert process.poll() is None, self.said
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()

    @property
    def said(self) -> str:
        return self._said.read_text()


async def found(client: Client, sentence: str) -> dict[str, Any]:
    """The passage of a transcript that holds a sentence, as soon as there is one."""
    until = time.monotonic() + PROGRAM_PATIENCE_S
    while time.monotonic() < until:
        hits = (await asking(client)("search", query=sentence, kinds=["transcript"], workspace="all")).get("hits", ())
        if hits and sentence in hits[0]["text"]:
            return dict(hits[0])
    raise AssertionError(f"never found: {sentence}")


async def transcript_of(client: Client, day: WorkingDay) -> dict[str, Any]:
    listed = (await asking(client)("transcripts", action="list"))["transcripts"]
    (one,) = [each for each in listed if each["uri"].endswith(f"/{day.name}.jsonl")]
    return dict(one)


def work_in_the_morning(day: WorkingDay) -> None:
    day.add("user", PREFERENCE)
    day.run("pnpm test", "FAIL src/harbour.test.ts\nError: Cannot find module 'tides'", failed=True)


def work_at_noon(day: WorkingDay) -> None:
    day.edit(f"{day.project}/src/harbour.ts", "tides", "./tides")
    day.run("pnpm test", "all 14 tests passed")
    day.say(DECISION)


async def test_next_morning_knows_the_day_although_no_tool_was_called(site: Site, day: WorkingDay) -> None:
    harvesting = Harvesting(site, day)
    async with site.client("owner", query="?tools=full") as reader:
        with harvesting.running():
            work_in_the_morning(day)
            await found(reader, PREFERENCE)
        work_at_noon(day)  # nobody harvests: it was killed
        with day.path.open("a") as half:
            half.write('{"type": "user", "message": {"role": "user", "cont')  # the last line is not all there yet
        with harvesting.running():
            await found(reader, DECISION)
            with day.path.open("a") as rest:
                rest.write('ent": "half a line"}}\n')
            await found(reader, "half a line")
            await revoke_token_of(site, "ada")
            day.add("user", LAST)
            await until_refused(harvesting)
            harvesting.token.write_text(site.tokens["ada again"])
            await found(reader, LAST)
        assert "refuses the token" in harvesting.said
        kept = await transcript_of(reader, day)
        assert kept["turns"] == 7, "nothing is lost, and nothing comes twice"
        text = (await asking(reader)("fetch", id=kept["id"]))["text"]
        assert [text.count(each) for each in (PREFERENCE, DECISION, "half a line", LAST)] == [1, 1, 1, 1], text
        assert "hidden in the boathouse" not in json.dumps(await asking(reader)("transcripts", action="list"))
    sleep_over(site.ground.loaded.data / "vaults" / "main" / "vault.db")
    async with site.client("ada again", query="?tools=full") as morning:
        await assert_the_day_is_known(morning, day)


async def revoke_token_of(site: Site, subject: str) -> None:
    """The first token somebody was given is refused from now on."""
    strongroom = Strongroom(site.ground.loaded.data)
    listed = await asyncio.to_thread(strongroom.process, "token", "list", "--json")
    first = min(each["id"] for each in listed.json["tokens"] if each["subject"] == subject)
    revoked = await asyncio.to_thread(strongroom.process, "token", "revoke", first)
    assert revoked.code == 0, revoked.err
    async with raw(site, subject) as http:  # what is said from now on finds the door shut
        until = time.monotonic() + PROGRAM_PATIENCE_S
        while (await http.post(enveloped("tools/list"))).status_code != 401:
            assert time.monotonic() < until


async def until_refused(harvesting: Harvesting) -> None:
    until = time.monotonic() + PROGRAM_PATIENCE_S
    while "refuses the token" not in harvesting.said:
        assert time.monotonic() < until, harvesting.said
        await asyncio.sleep(0)


async def assert_the_day_is_known(morning: Client, day: WorkingDay) -> None:
    ask = asking(morning)
    story = (await ask("context", format="prompt", budget_tokens=1500, workspace=day.project))["prompt"]
    for told in ("tide tables in SQLite", "Cannot find module", "pnpm"):
        assert told in story, story
    memories = (await ask("memory_list", workspace="all", limit=100))["memories"]
    assert len({each["content"] for each in memories}) == len(memories)
    passage = await found(morning, LAST)
    opened = await ask("fetch", id=(await transcript_of(morning, day))["id"])
    assert LAST in json.dumps(opened)
    assert passage["id"]
    private = (await ask("search", query=PRIVATE, workspace="all", mode="keyword")).get("hits", [])
    assert not any(PRIVATE in each["text"] for each in private)
