"""Connections on which a person is asked before anything is written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from auth.principal import owner
from auth.roles import Role
from server.call import Caller
from server.mcp_bridge.catalogue import Catalogue
from server.services import Services
from server.tools import discover
from tests.conftest import Asking, asker

ASKING = Caller(owner("cli"), "main", Role.ADMIN, "cli", preset="full", write_mode="ask")


@pytest.fixture
def ask(services: Services) -> Asking:
    return asker(services, ASKING)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("remember", {"content": "x"}),
        ("note_write", {"path": "a", "content": "x"}),
        ("tasks", {"action": "add", "path": "a", "text": "x"}),
        ("history", {"action": "undo"}),
    ],
)
async def test_nothing_is_written_until_a_person_agreed(ask: Asking, services: Services, tool, arguments) -> None:
    for refused in ({}, {"confirmed": False}):
        assert (await ask(tool, **arguments, **refused)).code == "confirmation_required"
    assert (await ask("status")).content["memories"]["living"] == 0
    assert not list((services.data / "vaults" / "main" / "notes").iterdir())


async def test_an_agreed_call_is_done_and_reading_asks_nobody(ask: Asking) -> None:
    assert (await ask("note_write", path="a", content="lantern", confirmed=True)).ok
    assert (await ask("note_read", path="a")).content["text"] == "lantern\n"
    assert (await ask("history", action="log")).content["changes"]
    assert (await ask("note_delete", path="a", confirmed=True)).code == "confirmation_required", "its own, too"
    assert (await ask("note_delete", path="a", confirmed=True, confirm=True)).ok


async def test_where_nobody_is_asked_the_word_is_no_hindrance(services: Services) -> None:
    plain = asker(services, replace(ASKING, write_mode="auto"))
    assert (await plain("remember", content="x", confirmed=True)).ok
    assert (await plain("remember", content="y", confirmed="yes")).code == "invalid_argument"


def test_the_schema_says_so_only_where_it_is_asked_and_written() -> None:
    listed = {
        mode: {tool.name: tool for tool in Catalogue(discover()).page((Role.ADMIN, "full", mode), None).tools}
        for mode in ("auto", "ask")
    }
    assert "confirmed" in listed["ask"]["note_edit"].input_schema["properties"]
    assert "confirmed" not in listed["auto"]["note_edit"].input_schema["properties"]
    assert "confirmed" not in listed["ask"]["note_read"].input_schema["properties"]
