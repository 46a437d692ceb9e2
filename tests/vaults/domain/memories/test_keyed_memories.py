"""Memories under keys: one for each key of an owner, changed by storing again, nobody else's business.

Covers vaults.domain.memories.keyed_memories and vaults.domain.memories.memory_keys.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from server.services import Services
from tests.conftest import Asking
from tests.importing import import_jsonl
from tests.people import person, rewrite
from vaults.domain.actors import Actor
from vaults.domain.import_export.exports import export


async def _keep(ask: Asking, content: str, key: str = "deploy.target", **more: Any) -> dict[str, Any]:
    outcome = await ask("remember", content=content, key=key, **more)
    assert outcome.ok, outcome.text
    return outcome.content


async def _get(ask: Asking, *keys: str) -> dict[str, Any]:
    return (await ask("memory_get", keys=list(keys))).content


async def test_storing_again_changes_the_memory_of_the_key(ask: Asking) -> None:
    first = await _keep(ask, "Deploy to the old harbour", type="decision", tags=["ops"], confidence=0.5)
    again = await _keep(ask, "Deploy to the new harbour", confidence=0.9)
    assert (first["key"], again["id"], again["version"]) == ("deploy.target", first["id"], 2)
    found = await _get(ask, "deploy.target")
    memory = found["memories"][0]
    assert (memory["content"], memory["key"], memory["version"]) == ("Deploy to the new harbour", "deploy.target", 2)
    assert (memory["type"], memory["tags"], memory["confidence"]) == ("decision", ["ops"], 0.9)
    assert (await ask("memory_list")).content["total"] == 1
    hits = (await ask("recall", query="where do we deploy, new harbour")).content["hits"]
    assert [(hit["id"], hit["key"]) for hit in hits] == [(first["id"], "deploy.target")]


async def test_what_it_says_already_makes_no_version(ask: Asking) -> None:
    first = await _keep(ask, "Deploy to the old harbour", tags=["ops"])
    again = await _keep(ask, "Deploy to the old harbour")
    assert (again["duplicate_of"], "version" in again) == (first["id"], False)
    assert (await _get(ask, "deploy.target"))["memories"][0]["version"] == 1


async def test_a_key_is_kept_though_the_text_is_known(ask: Asking) -> None:
    plain = (await ask("remember", content="Deploy to the old harbour")).content
    keyed = await _keep(ask, "Deploy to the old harbour")
    assert keyed["id"] != plain["id"]
    assert (await _get(ask, "deploy.target"))["memories"][0]["id"] == keyed["id"]


async def test_owners_have_keys_of_their_own(services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob")
    hers = await _keep(ann, "Ann deploys to the east pier")
    his = await _keep(bob, "Bob deploys to the west pier", visibility="private")
    assert hers["id"] != his["id"]
    assert [each["id"] for each in (await _get(ann, "deploy.target"))["memories"]] == [hers["id"]]
    assert [each["id"] for each in (await _get(bob, "deploy.target"))["memories"]] == [his["id"]]
    shown = (await bob("memory_get", ids=[hers["id"]])).content["memories"][0]
    assert shown["key"] == "deploy.target"


async def test_a_key_tells_nothing_of_others(services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob")
    await _keep(ann, "The secret pier", key="private.pier", visibility="private")
    known, unknown = await _get(bob, "private.pier"), await _get(bob, "no.such.pier")
    assert (known["memories"], known["missing"]) == (unknown["memories"], ["private.pier"]) == ([], ["private.pier"])
    stored = await _keep(bob, "Another pier", key="private.pier")
    assert "version" not in stored
    assert (await _get(ann, "private.pier"))["memories"][0]["content"] == "The secret pier"


async def test_ids_and_keys_are_asked_for_together(ask: Asking) -> None:
    first, second = await _keep(ask, "One", key="a"), await _keep(ask, "Two", key="b")
    found = (await ask("memory_get", ids=[second["id"], "nothing"], keys=["a", "b", "c"])).content
    assert [each["id"] for each in found["memories"]] == [second["id"], first["id"]]
    assert found["missing"] == ["nothing", "c"]


@pytest.mark.parametrize("gone", ["forgotten", "expired"])
async def test_a_memory_that_is_gone_comes_back_by_its_key(ask: Asking, services: Services, gone: str) -> None:
    first = await _keep(ask, "Deploy to the old harbour", ttl_days=3)
    if gone == "forgotten":
        await ask("memory_forget", ids=[first["id"]])
    else:
        await rewrite(services, "UPDATE memories SET expires_at = '2026-01-01T00:00:00.000Z'")
    assert (await _get(ask, "deploy.target"))["missing"] == ["deploy.target"]
    again = await _keep(ask, "Deploy to the new harbour")
    assert again["id"] == first["id"]
    memory = (await _get(ask, "deploy.target"))["memories"][0]
    assert (memory["content"], memory.get("archived_at")) == ("Deploy to the new harbour", None)


async def test_what_takes_the_place_of_a_memory_takes_its_key(services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob")
    old = await _keep(ann, "Deploy to the old harbour")
    new = (await bob("memory_supersede", id=old["id"], content="Deploy to the new harbour")).content
    assert (await _get(ann, "deploy.target"))["memories"][0]["id"] == new["id"]
    assert (await _get(bob, "deploy.target"))["missing"] == ["deploy.target"]
    assert "key" not in (await ann("memory_get", ids=[old["id"]])).content["memories"][0]
    # Whoever stored the new one may make it private: the key is free for its owner, who learns nothing.
    await bob("memory_update", id=new["id"], visibility="private")
    assert (await _get(ann, "deploy.target"))["missing"] == ["deploy.target"]
    assert "version" not in await _keep(ann, "Deploy nowhere")
    assert (await _get(ann, "deploy.target"))["memories"][0]["content"] == "Deploy nowhere"


async def test_many_at_once_make_one_memory(ask: Asking) -> None:
    stored = await asyncio.gather(*(_keep(ask, f"Deploy to pier {number}") for number in range(8)))
    assert len({each["id"] for each in stored}) == 1
    assert (await ask("memory_list")).content["total"] == 1


async def test_a_purged_key_is_free(ask: Asking) -> None:
    first = await _keep(ask, "Deploy to the old harbour")
    await ask("memory_forget", ids=[first["id"]], purge=True, confirmed=True)
    assert (await _keep(ask, "Deploy to the new harbour"))["id"] != first["id"]


async def test_a_key_and_an_external_id_exclude_each_other(ask: Asking) -> None:
    outcome = await ask("remember", content="x", key="a", external_id="b")
    assert (outcome.ok, "not both" in outcome.text) == (False, True)
    assert not (await ask("memory_get")).ok
    assert not (await ask("remember", content="x", key="k" * 201)).ok


async def test_a_key_survives_an_export(ask: Asking, services: Services, tmp_path: Path) -> None:
    lines = [
        {"content": "The first value", "key": "a", "external_id": "one"},
        {"content": "A later value", "key": "a", "external_id": "two", "supersedes": "one"},
        {"content": "A third memory", "key": "a", "external_id": "three"},
    ]
    source = tmp_path / "lines.jsonl"
    source.write_text("\n".join(map(json.dumps, lines)))
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await import_jsonl(vault, Actor("owner", "owner"), source)
        await export(vault, tmp_path / "out", ["jsonl"])
    found = (await ask("memory_get", keys=["a"])).content["memories"][0]
    assert (found["content"], found["external_id"]) == ("A later value", "two")
    exported = [json.loads(line) for line in (tmp_path / "out" / "memories.jsonl").read_text().splitlines()]
    assert {each["external_id"]: each.get("key") for each in exported} == {"one": None, "two": "a", "three": None}


async def test_what_was_stored_is_said_in_one_sentence(ask: Asking) -> None:
    first = await ask("remember", content="Deploys run on Monday.", key="deploys")
    assert first.text.splitlines()[0] == f"Stored {first.content['id']} under the key deploys: Deploys run on Monday."
    plain = await ask("remember", content="The harbour opens at nine", title="Harbour")
    assert plain.text.splitlines()[0] == f"Stored {plain.content['id']}: Harbour."
