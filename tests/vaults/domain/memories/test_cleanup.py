"""What could be tidied away: told to whoever may see it, and archived with one call.

Covers vaults.activity_log.access_counts, vaults.domain.memories.duplicate_groups.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from server.services import Services
from tests.conftest import Asking
from tests.work import python_steps
from vaults import clock
from vaults.domain.actors import Actor
from vaults.domain.memories import cleanup, duplicate_groups
from vaults.domain.memories.cleanup import CleanupFindings
from vaults.domain.memories.duplicate_groups import ComparedMemory, RepeatedMemory


async def _id(ask: Asking, content: str, **more: object) -> str:
    outcome = await ask("remember", content=content, **more)
    assert outcome.ok, outcome.text
    return str(outcome.content["id"])


def _actor() -> Actor:
    return Actor("owner", "owner")


async def _found(services: Services, actor: Actor) -> CleanupFindings:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        return await cleanup.find_cleanup(vault, actor)


async def _archived(services: Services, actor: Actor, kind: cleanup.CleanupKind) -> list[str]:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        return await cleanup.archive(vault, actor, kind)


async def _age(services: Services, days: float) -> None:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.db.write(lambda tx: tx.run("UPDATE memories SET created_at = ?", (clock.ago(days * 86_400),)))


async def test_equal_memories_are_one_group_and_the_one_that_is_read_stays(still: Services, tell: Asking) -> None:
    ids = [await _id(tell, "Tests run with make test", on_duplicate="store") for _ in range(3)]
    await _id(tell, "Lints run with make lint")
    await tell("memory_get", ids=[ids[1]])
    async with still.pool.lease(still.registry_cache.entry("main")) as vault:
        await vault.settle()
    actor = _actor()
    found = await _found(still, actor)
    assert found.duplicates.count == 2
    assert [sorted(group) for group in found.duplicates.groups] == [sorted(ids)]
    assert found.duplicates.groups[0][0] == ids[1]
    assert sorted(await _archived(still, actor, "duplicates")) == sorted({*ids} - {ids[1]})
    assert (await _found(still, actor)).duplicates.count == 0
    reason = (await tell("memory_get", ids=[ids[0]])).content["memories"][0]["archived_reason"]
    assert reason == f"duplicate of {ids[1]}"


async def test_nearly_equal_memories_are_found_and_other_values_are_not_the_same(still: Services, tell: Asking) -> None:
    one = await _id(
        tell, "The nightly backup of the ledger goes to the bucket in Frankfurt, encrypted with the team key"
    )
    two = await _id(
        tell, "The nightly backup of the ledger goes to the bucket in Frankfurt, encrypted with the team's key"
    )
    await _id(tell, "The port of the staging server of the ledger team is 8700 on every host")
    await _id(tell, "The port of the staging server of the ledger team is 8701 on every host")
    found = await _found(still, _actor())
    assert [sorted(group) for group in found.duplicates.groups] == [sorted([one, two])]


async def test_memories_of_another_place_are_no_duplicates(still: Services, tell: Asking) -> None:
    await _id(tell, "Tests run with make test", workspace="one")
    await _id(tell, "Tests run with make test", workspace="two")
    await _id(tell, "Tests run with make test", visibility="private")
    assert (await _found(still, _actor())).duplicates.count == 0


async def test_what_nobody_read_for_a_month_is_reported_and_archived(still: Services, tell: Asking) -> None:
    unread = await _id(tell, "The red binder is on the shelf")
    opened = await _id(tell, "The blue binder is in the drawer")
    turn = await _id(tell, "Where is the green binder?", parent="talk")
    await _age(still, 31)
    await tell("memory_get", ids=[opened])
    found = await _found(still, _actor())
    assert found.never_read == cleanup.MatchingMemories(1, [unread])
    assert await _archived(still, _actor(), "never_read") == [unread]
    assert "archived_at" not in (await tell("memory_get", ids=[turn])).content["memories"][0]


async def test_what_was_shown_whole_by_recall_was_read(still: Services, tell: Asking) -> None:
    await _id(tell, "The red binder is on the shelf")
    await _age(still, 31)
    await tell("recall", query="red binder")
    assert (await _found(still, _actor())).never_read.count == 0


async def test_what_expired_and_was_not_swept_yet_is_reported(still: Services, tell: Asking) -> None:
    gone = await _id(tell, "Lunch is at one", ttl_days=1)
    async with still.pool.lease(still.registry_cache.entry("main")) as vault:
        await vault.db.write(lambda tx: tx.run("UPDATE memories SET expires_at = ?", (clock.ago(1),)))
    assert (await _found(still, _actor())).expired == cleanup.MatchingMemories(1, [gone])
    assert await _archived(still, _actor(), "expired") == [gone]


@pytest.mark.parametrize("kind", ["duplicates", "never_read", "expired"])
async def test_private_memories_of_others_are_neither_counted_nor_archived(
    still: Services, tell: Asking, kind: cleanup.CleanupKind
) -> None:
    for _ in range(2):
        await _id(tell, "My own plan for the summer", visibility="private", on_duplicate="store", ttl_days=90)
    await _age(still, 31)
    async with still.pool.lease(still.registry_cache.entry("main")) as vault:
        if kind == "expired":
            await vault.db.write(lambda tx: tx.run("UPDATE memories SET expires_at = ?", (clock.ago(1),)))
    foreign = Actor("local|bob", "bob")
    found = await _found(still, foreign)
    assert (found.duplicates.count, found.never_read.count, found.expired.count) == (0, 0, 0)
    assert await _archived(still, foreign, kind) == []
    assert await _archived(still, _actor(), kind) != []


async def test_what_repeats_is_looked_for_once_and_ordered_by_what_is_read_meanwhile(
    still: Services, tell: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    group = duplicate_groups.group_duplicates

    def noting(candidates: Sequence[ComparedMemory], near: float) -> list[list[RepeatedMemory]]:
        looked.append(len(candidates))
        return group(candidates, near)

    monkeypatch.setattr(duplicate_groups, "group_duplicates", noting)
    first, second = [await _id(tell, "Tests run with make test", on_duplicate="store") for _ in range(2)]

    async def groups() -> list[list[str]]:
        async with still.pool.lease(still.registry_cache.entry("main")) as vault:
            await vault.settle()
        return (await _found(still, _actor())).duplicates.groups

    assert await groups() == [[first, second]]
    await tell("memory_get", ids=[second])
    assert await groups() == [[second, first]]
    assert looked == [2]
    soon = clock.days_from_now(1)
    third = await _id(tell, "Tests run with make test", on_duplicate="store")
    async with still.pool.lease(still.registry_cache.entry("main")) as vault:
        await vault.db.write(lambda tx: tx.run("UPDATE memories SET expires_at = ? WHERE id = ?", (soon, third)))
    assert await groups() == [[second, first, third]]
    assert await groups() == [[second, first, third]]
    assert looked == [2, 3]
    monkeypatch.setattr(clock, "now", lambda: soon)
    assert (await _found(still, _actor())).duplicates.groups == [[second, first]]
    assert looked == [2, 3, 2]
    monkeypatch.setattr(cleanup, "MAX_KEPT", 1)
    await _id(tell, "Lints run with make lint")
    assert await groups() == await groups() == [[second, first]]
    assert looked == [2, 3, 2, 3, 3], "what is too much to keep is looked for again"


def test_a_thousand_memories_are_compared_without_a_look_at_each_pair() -> None:
    import numpy as np

    rng = np.random.default_rng(7)
    rows = rng.standard_normal((1000, 384)).astype("<f4")
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    every = [ComparedMemory(n, str(n), f"text {n} of many", None, "s", rows[n].tobytes()) for n in range(1000)]
    assert duplicate_groups.group_duplicates(every, 0.92) == []
    assert python_steps(lambda: duplicate_groups.group_duplicates(every, 0.92)) < 80 * len(every)
