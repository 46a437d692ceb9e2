"""A harvest's lines become transcripts that everybody sees as they may; a day of them can be taken back."""

from __future__ import annotations

from typing import Any

from auth.roles import Role
from server import resources
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, owner
from tests.people import person


def talk(number: int, **more: Any) -> dict[str, Any]:
    parts = [{"text": f"The lamp of pier {number} is out", "author": "ann", "role": "user"}]
    return {
        "kind": "document", "external_id": f"transcript:claude-code:{number}", "format": "transcript",
        "author": "Claude Code", "agent": "claude-opus", "title": f"Talk {number}",
        "created_at": f"2026-01-0{number}T10:00:00Z", "parts": parts, **more,
    }  # fmt: skip


async def test_lines_are_stored_counted_and_listed_as_each_may_see(services: Services) -> None:
    ann = await person(services, "ann", role=Role.ADMIN)
    bob = await person(services, "bob")
    pushed = (await ann("transcripts", action="push", lines=[talk(1), talk(2, visibility="private")])).content
    assert pushed["counts"] == {"document": {"stored": 2}}
    grown = {"kind": "document", "external_id": talk(1)["external_id"], "append": True,
             "parts": [{"position": 1, "text": "It burns again", "role": "assistant"}]}  # fmt: skip
    again = (await ann("transcripts", action="push", lines=[talk(1), grown])).content
    assert again["counts"] == {"document": {"known": 1, "updated": 1}}
    assert again["run"] == pushed["run"]
    listed = (await ann("transcripts", action="list")).content["transcripts"]
    assert [(each["title"], each["turns"]) for each in listed] == [("Talk 2", 1), ("Talk 1", 2)]
    assert (await ann("transcripts")).content["programs"] == {"Claude Code": 2}
    assert (await bob("transcripts")).content["total"] == 1
    assert [each["title"] for each in (await bob("transcripts", action="list")).content["transcripts"]] == ["Talk 1"]
    opened = (await bob("fetch", id=listed[1]["id"])).content
    assert opened["metadata"]["agent"] == "claude-opus"
    assert (await ann("imports", action="undo", run=pushed["run"], confirmed=True)).ok
    assert (await ann("transcripts")).content["total"] == 0


async def test_only_documents_and_memories_are_taken(ask: Asking) -> None:
    refused = await ask("transcripts", action="push", lines=[{"kind": "policy", "external_id": "p"}])
    assert refused.code == "invalid_argument"


async def test_a_transcript_is_a_resource_for_those_who_may_see_it(services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob")
    assert (await ann("transcripts", action="push", lines=[talk(1), talk(2, visibility="private")])).ok
    hidden, shown = (await ann("transcripts", action="list")).content["transcripts"]
    read = (await bob("fetch", refs=[f"document://{shown['id']}", f"document://{hidden['id']}"])).content
    assert [item["id"] for item in read["items"]] == [shown["id"]]
    assert read["missing"] == [f"document://{hidden['id']}"]


async def test_a_resource_is_the_text_of_a_document(services: Services, ask: Asking) -> None:
    assert (await ask("transcripts", action="push", lines=[talk(1)])).ok
    (listed,) = (await ask("transcripts", action="list")).content["transcripts"]
    caller = Caller(owner("cli"), "main", Role.ADMIN, "cli")
    body = await resources.read_resource(services, caller, f"document://{listed['id']}")
    assert "The lamp of pier 1 is out" in body.text
    assert body.about["document"]["title"] == "Talk 1"
    await resources.check_readable(services, caller, [f"document://{listed['id']}"])
