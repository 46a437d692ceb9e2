"""Recall over several vaults beside other tenants' calls."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from auth.grants import set_grant
from auth.principal import LOCAL
from auth.roles import Role
from server import vault_admin
from server.call import Caller
from server.federated_search import merge_answers
from server.services import Services
from tests.conftest import Asking, Opening, asker, local
from tests.noted import folder, indexed, put
from tests.work import PATIENCE_S
from vaults import pool as pools
from vaults.domain.notes.read import note_listing
from vaults.domain.retrieval import hybrid_search
from vaults.domain.retrieval.hybrid_search import SearchAnswer, SearchRequest
from vaults.domain.retrieval.search_hits import Hit, RankedHit
from vaults.files.notebook import IndexProgress
from vaults.vault import Vault


def _as(services: Services, subject: str, vault: str) -> Asking:
    return asker(services, Caller(local(subject), vault, Role.WRITER, "http"))


async def _fill(services: Services, vaults: tuple[str, ...], *subjects: str) -> None:
    for vault in vaults:
        for subject in subjects:
            await services.access_cache.write(
                lambda tx, who=subject, name=vault: set_grant(tx, who, LOCAL, name, Role.WRITER)  # type: ignore[misc]
            )
        assert (await _as(services, subjects[0], vault)("remember", content=f"canary of {vault}")).ok


async def test_every_granted_vault_is_searched_and_other_tenants_are_served_meanwhile(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = tuple(f"v{n}" for n in range(10))
    searching, most, answer_of = 0, 0, hybrid_search.search_vault

    async def watched(vault: Vault, ask: SearchRequest) -> SearchAnswer:
        nonlocal searching, most
        searching += ask.query == "canary"
        most = max(most, searching)
        try:
            await asyncio.sleep(0)
            return await answer_of(vault, ask)
        finally:
            searching -= ask.query == "canary"

    async with opening({"storage.open_vaults": 4}, vaults=names) as services:
        await _fill(services, names, "alice")
        await services.access_cache.write(lambda tx: set_grant(tx, "bob", LOCAL, "v9", Role.WRITER))
        monkeypatch.setattr(hybrid_search, "search_vault", watched)
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
            while not answer.ok:  # the one place is taken: what filled it is still being put away
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


async def test_vaults_that_cannot_be_searched_are_named_one_by_one(opening: Opening) -> None:
    names = ("main", "archived", "damaged", "emptied")
    async with opening(vaults=names) as services:
        await _fill(services, names, "alice")
        await services.access_cache.write(lambda tx: set_grant(tx, "bob", LOCAL, "main", Role.WRITER))
        await vault_admin.archive(services, "archived")
        folders = {name: services.data / "vaults" / name for name in names}
    (folders["damaged"] / "vault.db").write_bytes(b"no database" * 1000)
    for file in folders["emptied"].glob("vault.db*"):
        file.unlink()
    async with opening(vaults=()) as services:
        for tool in ("recall", "search"):
            answer = await _as(services, "alice", "main")(tool, query="canary", vaults=["*"])
            assert {hit["vault"] for hit in answer.content["hits"]} == {"main"}
            assert answer.content["warnings"] == [
                "vault archived is archived and was not searched",
                "vault damaged could not be searched (vault_quarantined)",
                "vault emptied could not be searched (vault_quarantined)",
            ]
            bob = await _as(services, "bob", "main")(tool, query="canary", vaults=["*"])
            assert bob.content.get("warnings", []) == [], "names of vaults that are not granted are nobody's business"


@pytest.mark.parametrize("tool", ["recall", "search"])
async def test_vaults_that_are_still_being_read_are_named(
    opening: Opening, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(note_listing, "SYNC_WAIT_S", 0.01)
    names = ("main", "slow", "lost")
    async with opening(vaults=names) as services:
        await _fill(services, names, "alice")
        ask = _as(services, "alice", "main")
        for name in names:
            await indexed(services, 0, name)
        async with (
            services.pool.lease(services.registry_cache.entry("slow")) as slow,
            services.pool.lease(services.registry_cache.entry("lost")) as lost,
        ):
            slow.notes.report(IndexProgress("scanning", 3, 10))
            lost.notes.report(IndexProgress("unavailable", reason="it is not mounted"))
            said = (await ask(tool, query="canary", vaults=["*"])).content["warnings"]
            assert said == [
                "lost: notes are as last read: the folder cannot be read now (it is not mounted)",
                "slow: still being read: 3 of 10 notes",
            ]
            assert (await ask(tool, query="canary", vaults=["slow"])).content["warnings"] == said[1:]
            for vault in (slow, lost):
                vault.notes.report(IndexProgress("ready"))
            assert (await ask(tool, query="canary", vaults=["*"])).content.get("warnings", []) == []


async def test_a_first_index_is_never_taken_for_an_empty_vault(opening: Opening) -> None:
    names = ("main", "big")
    async with opening(vaults=names) as services:
        for name in names:
            await services.access_cache.write(lambda tx, name=name: set_grant(tx, "alice", LOCAL, name, Role.WRITER))  # type: ignore[misc]
        put(folder(services.data, "big"), {f"n{n}.md": f"note {n}\n" for n in range(150)} | {"z.md": "the needle\n"})
    async with opening(vaults=()) as services, asyncio.timeout(PATIENCE_S):
        ask = _as(services, "alice", "main")
        while True:
            answer = (await ask("search", query="needle", vaults=["*"])).content
            found = "z.md" in {hit["id"] for hit in answer["hits"]}
            assert found or any(said.startswith("big: still being read") for said in answer.get("warnings", ()))
            if found and "warnings" not in answer:
                break


def _answer(vault: str, model: str, *cosines: float) -> SearchAnswer:
    found = [Hit(f"{vault}{n}", vault, signals={"semantic": cosine}) for n, cosine in enumerate(cosines)]
    hits = [RankedHit(("memory", n), n, hit) for n, hit in enumerate(found)]
    spans = {"keyword": (0.0, 0.0), "semantic": (min(cosines), max(cosines))}
    return SearchAnswer(hits, len(hits), "semantic", spans, model=model)


def test_cosines_of_different_models_are_not_compared() -> None:
    narrow, wide = _answer("a", "narrow", 0.90, 0.86, 0.80), _answer("b", "wide", 0.60, 0.50, 0.10)
    assert [each.hit.id for each in merge_answers([narrow, wide], 0.4)] == ["a0", "b0", "b1", "a1", "a2", "b2"]
    same = [replace(each, model="same") for each in (narrow, wide)]
    assert [each.hit.id for each in merge_answers(same, 0.4)] == ["a0", "a1", "a2", "b0", "b1", "b2"]
