"""Relations of memories to memories, notes and named things.

Covers vaults.domain.memories.relations.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from auth.principal import owner
from auth.roles import Role
from server.services import Services
from tests.conftest import Asking, Opening
from tests.importing import import_jsonl
from tests.noted import folder, indexed, put
from tests.people import person
from vaults.domain.actors import Actor
from vaults.domain.import_export import exports


async def _stored(ask: Asking, content: str, **more: Any) -> str:
    return str((await ask("remember", content=content, **more)).content["id"])


async def _links(ask: Asking, memory: str) -> list[tuple[str, str, str]]:
    found = (await ask("memory_get", ids=[memory])).content["links"]
    return [(each["relation"], each.get("kind", "memory"), each["to_id"]) for each in found]


NOTES = {
    "projects/plan.md": "# The plan\n",
    "people/Ada.md": "---\naliases: [Lady Lovelace]\n---\n# Ada Lovelace\n",
    "a/Twin.md": "1\n",
    "b/Twin.md": "2\n",
}


async def test_a_memory_is_linked_to_a_note_by_any_of_its_names_and_follows_it(services: Services) -> None:
    ann = await person(services, "ann")
    put(folder(services.data), NOTES)
    await indexed(services, len(NOTES))
    one = await _stored(ann, "Ships in May")
    for name in ("projects/plan.md", "projects/plan", "The plan"):
        linked = await ann("memory_link", from_id=one, relation="about", to_id=name)
        assert (linked.content["kind"], linked.content["to_id"]) == ("note", "projects/plan.md")
    await ann("memory_link", from_id=one, relation="by", to_id="entity:lady lovelace")
    assert await _links(ann, one) == [("about", "note", "projects/plan.md"), ("by", "note", "people/Ada.md")]
    await ann("note_move", path="projects/plan.md", to="done/")
    assert ("about", "note", "done/plan.md") in await _links(ann, one)


async def test_a_name_without_a_note_is_known_or_said_to_be_one(services: Services) -> None:
    ann = await person(services, "ann")
    one = await _stored(ann, "Prefers tea", entity="Grace Hopper")
    assert (await ann("memory_link", from_id=one, relation="about", to_id="grace hopper")).content["to_id"] == (
        "Grace Hopper"
    )
    unknown = await ann("memory_link", from_id=one, relation="about", to_id="Alan Turing")
    assert unknown.code == "not_found"
    assert "entity:Alan Turing" in json.dumps(unknown.content)
    assert (await ann("memory_link", from_id=one, relation="about", to_id="entity:Alan Turing")).ok
    assert {each[2] for each in await _links(ann, one)} == {"Grace Hopper", "Alan Turing"}
    for bad in ("entity:", "entity: ", "entity:" + "x" * 201):
        assert (await ann("memory_link", from_id=one, relation="about", to_id=bad)).code == "invalid_argument"


async def test_a_name_of_several_notes_is_refused_with_their_paths(services: Services) -> None:
    ann = await person(services, "ann")
    put(folder(services.data), NOTES)
    await indexed(services, len(NOTES))
    refused = await ann("memory_link", from_id=await _stored(ann, "x y"), relation="about", to_id="Twin")
    assert refused.code == "conflict"
    assert refused.content["error"]["details"]["paths"] == ["a/Twin.md", "b/Twin.md"]


async def test_links_are_taken_away_once(services: Services) -> None:
    ann = await person(services, "ann")
    put(folder(services.data), NOTES)
    await indexed(services, len(NOTES))
    one, two = await _stored(ann, "Cause of it"), await _stored(ann, "Effect of it")
    for to in (two, "entity:Rain", "Ada"):
        said = {"from_id": one, "relation": "about", "to_id": to}
        assert (await ann("memory_link", **said)).ok
        gone = await ann("memory_link", **said, remove=True)
        assert gone.content["removed"], gone.text
        assert (await ann("memory_link", **said, remove=True)).code == "not_found"
    assert await _links(ann, one) == []


async def test_what_a_private_memory_speaks_of_is_its_owners(services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob", Role.ADMIN)
    secret = await _stored(ann, "My own thought", visibility="private", entity="Hidden Name")
    ours = await _stored(bob, "A shared thought")
    await ann("memory_link", from_id=secret, relation="about", to_id="entity:Hidden Thing")
    await ann("memory_link", from_id=secret, relation="about", to_id=ours)
    assert await _links(bob, ours) == []
    assert (await bob("memory_get", ids=[secret])).content["links"] == []
    hidden = await bob("memory_link", from_id=ours, relation="about", to_id="Hidden Name")
    absent = await bob("memory_link", from_id=ours, relation="about", to_id="Absent Name")
    assert hidden.text.replace("Hidden", "") == absent.text.replace("Absent", "")
    for call in ({}, {"remove": True}):
        theirs = await bob("memory_link", from_id=secret, relation="about", to_id="entity:Hidden Thing", **call)
        assert theirs.code == "not_found"
    assert (await bob("memory_link", from_id=ours, relation="about", to_id=secret, remove=True)).code == "not_found"
    assert len(await _links(ann, secret)) == 2


async def test_an_export_carries_what_memories_speak_of(opening: Opening, tmp_path: Path) -> None:
    async with opening(vaults=("main", "copy")) as services:
        ann = await person(services, "ann")
        one = await _stored(ann, "Prefers tea")
        await ann("memory_link", from_id=one, relation="about", to_id="entity:Ada")
        who = Actor(owner("cli").key, "owner")
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            await exports.export(vault, tmp_path / "out", ["jsonl"])
        async with services.pool.lease(services.registry_cache.entry("copy")) as vault:
            await import_jsonl(vault, who, tmp_path / "out" / exports.JSONL)
        there = await person(services, "ann", vault="copy")
        copied = (await there("memory_list")).content["memories"][0]["id"]
        assert await _links(there, copied) == [("about", "entity", "Ada")]
