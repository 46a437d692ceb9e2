"""Recall over several vaults beside other tenants' calls."""

from __future__ import annotations

import asyncio

import pytest

from auth.grants import set_grant
from auth.principal import LOCAL
from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, Opening, asker, local
from tests.work import PATIENCE_S
from vaults import pool as pools
from vaults.domain import recalling
from vaults.domain.recalling import Ask, Recalled
from vaults.vault import Vault


def _as(services: Services, subject: str, vault: str) -> Asking:
    return asker(services, Caller(local(subject), vault, Role.WRITER, "http"))


async def _fill(services: Services, vaults: tuple[str, ...], *subjects: str) -> None:
    for vault in vaults:
        for subject in subjects:
            await services.board.write(
                lambda tx, who=subject, name=vault: set_grant(tx, who, LOCAL, name, Role.WRITER)  # type: ignore[misc]
            )
        assert (await _as(services, subjects[0], vault)("remember", content=f"canary of {vault}")).ok


async def test_every_granted_vault_is_searched_and_other_tenants_are_served_meanwhile(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = tuple(f"v{n}" for n in range(10))
    searching, most, recall = 0, 0, recalling.recall

    async def watched(vault: Vault, ask: Ask) -> Recalled:
        nonlocal searching, most
        searching += ask.query == "canary"
        most = max(most, searching)
        try:
            await asyncio.sleep(0)
            return await recall(vault, ask)
        finally:
            searching -= ask.query == "canary"

    async with opening({"storage.open_vaults": 4}, vaults=names) as services:
        await _fill(services, names, "alice")
        await services.board.write(lambda tx: set_grant(tx, "bob", LOCAL, "v9", Role.WRITER))
        monkeypatch.setattr(recalling, "recall", watched)
        wide = [
            asyncio.ensure_future(_as(services, "alice", "v0")("recall", query="canary", vaults=["*"], limit=20))
            for _ in range(3)
        ]
        bob = _as(services, "bob", "v9")
        served = [await bob("recall", query="of v9") for _ in range(20)]
        answers = await asyncio.gather(*wide)
    assert {answer.code for answer in served} == {None}
    for answer in answers:
        assert {hit["vault"] for hit in answer.content["hits"]} == set(names)
        assert not answer.content.get("warnings")
    assert most <= 4, "one beside each call's own vault at a time, for the whole process"


@pytest.mark.parametrize(("places", "beside"), [(1, 1), (7, 1), (8, 2), (64, 4)])
async def test_how_many_vaults_are_leased_beside_callers_own(opening: Opening, places: int, beside: int) -> None:
    async with opening({"storage.open_vaults": places}, vaults=()) as services:
        assert services.pool.beside == beside


async def test_with_room_for_one_vault_only_its_own_is_searched_and_the_others_are_named(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = tuple(f"v{n}" for n in range(5))
    async with opening({"storage.open_vaults": 1}, vaults=names) as services:
        await _fill(services, names, "alice")
        monkeypatch.setattr(pools, "ROOM_WAIT_S", 0.05)
        async with asyncio.timeout(PATIENCE_S):
            answer = await _as(services, "alice", "v0")("recall", query="canary", vaults=["*"])
    assert {hit["vault"] for hit in answer.content["hits"]} == {"v0"}
    assert answer.content["warnings"] == [f"vault {name} could not be searched (overloaded)" for name in names[1:]]


async def test_a_recall_that_is_given_up_leaves_no_lease_and_no_turn_behind(opening: Opening) -> None:
    names = tuple(f"v{n}" for n in range(6))
    async with opening({"storage.open_vaults": 4}, vaults=names) as services:
        await _fill(services, names, "alice")
        ask = _as(services, "alice", "v0")
        for turns in range(12):
            begun = asyncio.ensure_future(ask("recall", query="canary", vaults=["*"]))
            for _ in range(turns):
                await asyncio.sleep(0)
            begun.cancel()
            await asyncio.gather(begun, return_exceptions=True)
        answer = await ask("recall", query="canary", vaults=["*"])
        assert {hit["vault"] for hit in answer.content["hits"]} == set(names)
        assert services.pool.open_count <= 4
