"""``strongroom search`` and ``recall``: what the tools find, with and without a server.

Covers server.cli.tool_calls.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from typing import Any
from unittest import mock

import pytest
import pytest_asyncio

from server import command_answers
from server.cli import tool_calls
from tests.server.cli.command import ENVIRONMENT, Ran, Strongroom
from tests.server.http.serving import Site, raw, served
from vaults.errors import VaultUnavailable

pytestmark = pytest.mark.asyncio(loop_scope="module")

FACTS = (
    {"content": "Deploys run on Monday, the rota is full then", "type": "decision", "tags": ["ops"]},
    {"content": "The heron waits for Monday", "type": "fact"},
)
TOLD = {name: value for name, value in ENVIRONMENT.items() if name.startswith("STRONGROOM_")}
"""What commands are told: a server that is told something else does not answer them."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    with mock.patch.dict(os.environ, TOLD):
        async with served(tmp_path_factory.mktemp("searches") / "data") as running, raw(running, "owner") as owner:
            for fact in FACTS:
                assert not (await owner.call("remember", fact))["isError"]
            yield running


async def run(site: Site, *words: str) -> Ran:
    return await asyncio.to_thread(Strongroom(site.ground.loaded.data), *words)


def contents(found: Mapping[str, Any]) -> set[str]:
    return {hit.get("content") or hit.get("text") for hit in found["hits"]}


async def test_several_words_are_one_question(site: Site) -> None:
    for command in ("search", "recall"):
        ran = await run(site, command, "deploys", "monday", "--mode", "keyword", "--limit", "1", "--json")
        assert (ran.code, contents(ran.json), len(ran.json["hits"])) == (0, {FACTS[0]["content"]}, 1)
    ran = await run(site, "recall", "deploys monday", "--mode", "keyword")
    assert str(FACTS[0]["content"]) in ran.out
    assert "decision" in ran.out


async def test_options_filter(site: Site) -> None:
    for options in (["--type", "fact"], ["--since", "2020-01-01", "--until", "2999-01-01", "--type", "fact"]):
        ran = await run(site, "recall", "monday", "--mode", "keyword", "--json", *options)
        assert contents(ran.json) == {FACTS[1]["content"]}, options
    assert contents((await run(site, "search", "monday", "--tag", "ops", "--kind", "memory", "--json")).json) == {
        FACTS[0]["content"]
    }
    none = await run(site, "search", "monday", "--kind", "note", "--folder", "plans")
    assert (none.code, none.out) == (0, "")
    assert "nothing found" in none.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["search", "x", "--kind", "thing"], 2, "strongroom: kinds.0 should be"),
        (["recall", "x", "--since", "tomorrowish"], 2, "strongroom: since"),
        (["recall", "x", "--limit", "501"], 2, "--limit"),
        (["recall"], 2, "QUERY"),
        (["recall", "x", "--vault", "none"], 1, "strongroom: no such vault"),
        (["recall", "monday", "--as", "nobody"], 1, "strongroom: no such vault, or no grant for it"),
    ],
)
async def test_what_cannot_be_asked_ends_with_one_line(site: Site, words: list[str], code: int, said: str) -> None:
    ran = await run(site, *words)
    assert (ran.code, ran.out, said in ran.err) == (code, "", True), ran.err


async def test_a_failure_is_json_where_json_was_asked_for(site: Site) -> None:
    ran = await run(site, "recall", "x", "--vault", "none", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "not_found")


async def test_a_server_over_the_data_folder_is_asked_and_nothing_is_opened(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(tool_calls, "_call", None)
        for command in ("search", "recall"):
            ran = await run(site, command, "heron", "--mode", "keyword", "--json")
            assert contents(ran.json) == {FACTS[1]["content"]}
        picture = await run(site, "graph", "export", "--format", "svg")
        assert picture.out.startswith("<svg ")


async def test_a_server_that_cannot_is_not_needed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(command_answers, "dispatch", _refuse)
        told = await run(site, "recall", "heron")
        assert (told.code, told.out, told.err) == (1, "", "strongroom: the server is ending\n")
        alone = await run(site, "--log-level", "error", "recall", "heron", "--mode", "keyword", "--json")
    with monkeypatch.context() as patched:
        patched.setattr("server.cli.local_connection.LocalServer.ask", _end)
        ended = await run(site, "recall", "heron", "--mode", "keyword", "--json")
    assert contents(alone.json) == contents(ended.json) == {FACTS[1]["content"]}


async def _refuse(*_: object) -> Any:
    raise VaultUnavailable("the server is ending")


def _end(*_: object) -> Any:
    raise ConnectionError
