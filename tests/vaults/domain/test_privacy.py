"""What one caller keeps private, nobody else can read, take, count or be crowded out by."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, asker, local
from tests.people import give_role


@dataclass(frozen=True)
class Two:
    """Two people with every right in one vault."""

    ann: Asking
    bob: Asking


@pytest.fixture
async def two(services: Services) -> Two:
    for name in ("ann", "bob"):
        await give_role(services, name, Role.ADMIN)
    ann, bob = (asker(services, Caller(local(name), "main", Role.ADMIN, "http")) for name in ("ann", "bob"))
    return Two(ann, bob)


async def _id(ask: Asking, content: str, **more: object) -> str:
    return str((await ask("remember", content=content, **more)).content["id"])


async def test_only_who_stored_a_memory_can_make_it_private(two: Two) -> None:
    shared = await _id(two.bob, "Everybody's recipe")
    taken = await two.ann("memory_update", id=shared, visibility="private", content="now mine")
    assert taken.code == "forbidden"
    assert (await two.bob("memory_get", ids=[shared])).content["memories"][0]["content"] == "Everybody's recipe"
    assert (await two.bob("memory_update", id=shared, visibility="private")).ok
    assert not (await two.ann("memory_get", ids=[shared])).content["memories"]


async def test_private_memories_are_not_counted_to_others(two: Two) -> None:
    await _id(two.bob, "One for all", parent="talk")

    async def seen() -> tuple[object, ...]:
        status = (await two.bob("status")).content
        info = (await two.bob("vaults", action="info")).content["vaults"][0]
        index = (status["index"]["passages"], status["index"]["vectors"])
        return status["memories"], index, status["embedding"]["pending"], info["memories"]

    before = await seen()
    for n in range(3):
        await _id(two.ann, f"Secret {n}", visibility="private", type="preference", parent="talk")
    assert await seen() == before
    assert (await two.ann("status")).content["memories"]["living"] == 4
    placed = await _id(two.bob, "Two for all", parent="talk")
    assert (await two.bob("memory_get", ids=[placed])).content["memories"][0]["position"] == 1


async def test_private_near_duplicates_do_not_hide_shared_ones(two: Two) -> None:
    text = "the quick brown fox jumps over the lazy dog near the old mill by the river number"
    shared = await _id(two.bob, f"{text} none")
    for n in range(8):
        await _id(two.ann, f"{text} {n}", visibility="private")
    stored = await two.bob("remember", content=f"{text} ten")
    assert [near["id"] for near in stored.content["similar"]] == [shared]


async def test_metadata_cannot_pose_as_what_the_server_knows(two: Two) -> None:
    lies = {"author": "ceo", "created_at": "1999-01-01T00:00:00Z", "type": "decision", "workspace": "hq", "own": 1}
    one = await _id(two.ann, "Trust me", metadata=lies)
    told = (await two.bob("fetch", id=one)).content["metadata"]
    assert (told["author"], told["type"], told["workspace"], told["own"]) == ("ann", "raw", "global", 1)
    assert told["created_at"] != lies["created_at"]
