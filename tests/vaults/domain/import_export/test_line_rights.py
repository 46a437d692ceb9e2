"""A writer's import does nothing that no tool would let a writer do: others' names, private text and procedures are
out of its reach.
"""

from __future__ import annotations

from typing import Any

import pytest

from auth.roles import Role
from server.services import Services
from tests.conftest import Asking
from tests.people import person

DAY = "2026-11-20T09:00:00.000Z"


async def pushed(ask: Asking, *lines: dict[str, Any]) -> dict[str, Any]:
    return dict((await ask("imports", action="push", lines=list(lines))).content)


@pytest.mark.parametrize(
    "line",
    [
        {"kind": "policy", "external_id": "p", "name": "weekly", "yaml": "version: 1\nname: weekly\n"},
        {"kind": "event", "external_id": "e", "at": DAY, "type": "tool_call", "outcome": "internal"},
        {"kind": "link_feedback", "external_id": "v", "entity": "Ada", "verdict": "rejected", "at": DAY, "who": "bob"},
        {"kind": "link_application", "external_id": "a", "entity": "Ada", "path": "a.md", "term": "Ada", "at": DAY},
    ],
    ids=lambda line: line["kind"],
)
async def test_what_speaks_for_others_needs_an_admin(services: Services, line: dict[str, Any]) -> None:
    writer, admin = await person(services, "wil"), await person(services, "ada", role=Role.ADMIN)
    refused = await pushed(writer, line)
    assert "needs the role admin" in refused["rejected"][0]["reason"]
    assert (await pushed(admin, line))["counts"] == {line["kind"]: {"stored": 1}}


async def test_a_handoff_a_writer_brings_is_the_writers(services: Services) -> None:
    writer = await person(services, "wil")
    line = {"kind": "handoff", "external_id": "h", "who": "ada", "goal": "go on", "created_at": DAY}
    assert (await pushed(writer, line))["counts"] == {"handoff": {"stored": 1}}
    assert (await writer("handoff_load")).content["handoff"]["author"] == "wil"


async def test_private_memories_of_others_are_not_known_and_cannot_be_superseded(services: Services) -> None:
    ann, eve = await person(services, "ann"), await person(services, "eve")
    own = await ann("remember", content="The key is under the mat", visibility="private", external_id="key")
    line = {"external_id": "key", "content": "a guess", "visibility": "private"}
    assert (await pushed(eve, line))["counts"] == {"memory": {"stored": 1}}
    await pushed(eve, {"external_id": "new", "content": "the door is open", "supersedes": own.content["id"]})
    await pushed(eve, {"external_id": "on", "content": "more", "links": [["on", "explains", own.content["id"]]]})
    memory = (await ann("memory_get", ids=[own.content["id"]])).content
    assert "superseded_by" not in memory["memories"][0]
    assert memory["links"] == []


async def test_a_document_of_somebody_else_is_not_continued(services: Services) -> None:
    ann, eve = await person(services, "ann"), await person(services, "eve")
    part = {"position": 0, "text": "We ship on Monday."}
    await pushed(ann, {"kind": "document", "external_id": "d", "format": "transcript", "parts": [part]})
    found = (await ann("search", query="ship on Monday", kinds=["transcript"])).content["hits"][0]["parent"]
    more = {"kind": "document", "external_id": found, "append": True, "parts": [{"position": 1, "text": "On Friday!"}]}
    assert (await pushed(eve, more))["counts"] == {"document": {"known": 1}}
    assert "Friday" not in (await ann("fetch", id=found)).content["text"]
