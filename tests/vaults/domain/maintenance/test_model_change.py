"""A vault changes its model while the one before answers, survives a kill on the way, and goes back.

Covers vaults.index.model_choice, vaults.index.spare_vectors, ops.doctor.vault_model.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from ops.doctor.vault_model import own_model
from server.services import Services
from tests.conftest import Opening, asker
from tests.embedding_servers import EmbeddingServer, Seen, embedding_server
from tests.fakes import HashEmbedder
from tests.model_changes import OTHER, TEXTS, Gate, at, change, changed, found, held, model_of, remembered
from tests.work import PATIENCE_S
from vaults import pool_rounds, registry
from vaults.activity_log import log_writer
from vaults.db.sql import Params, Reader, Writer
from vaults.domain.maintenance import model_change
from vaults.domain.maintenance.verification import verify
from vaults.embed.endpoint_stamps import PROBE
from vaults.errors import InvalidArgument, Overloaded
from vaults.index import model_choice, spare_vectors
from vaults.registry import VaultEntry
from vaults.vault import Vault


@pytest.fixture(autouse=True)
def batches_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_change, "BATCH", 2)


@pytest.fixture(autouse=True)
def no_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """No round of the pool opens a vault, or goes on with a change, but the one a test asks for."""
    monkeypatch.setattr(pool_rounds, "SWEEP_AFTER_S", 3600.0)


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    async with embedding_server(model=HashEmbedder(48, revision="2")) as running:
        yield running


async def test_the_old_model_answers_until_every_vector_of_the_new_one_is_there(
    opening: Opening, server: EmbeddingServer
) -> None:
    gate = Gate(server, batches=1)
    async with opening(at(server)) as services, asyncio.timeout(PATIENCE_S):
        ask = asker(services)
        await remembered(ask)
        await change(services, OTHER)
        await gate.reached.wait()

        assert await found(ask, TEXTS[4]) == ("semantic", TEXTS[4], [])
        assert (await ask("remember", content="a gull on the amber log")).content["embedding"] == "ready"
        assert await found(ask, "a gull on the amber log") == ("semantic", "a gull on the amber log", [])
        state = await model_of(ask)
        assert (state["model"], state["pending"]) == ("hash", 0)
        assert state["change"] == {"to": OTHER, "done": 2, "total": 6}
        async with held(services) as vault:
            check = await own_model(vault)
            assert (check.status, "2 of 6 passages" in check.message) == ("notice", True)
        assert not any("gull" in text for text in server.texts), "questions and writes went to the new model"

        gate.opened.set()
        async with held(services) as vault:
            await vault.background.wait()
            assert (await verify(vault)).agrees
        state = await model_of(ask)
        assert (state["model"], state["width"], state["own"]) == ("other", 48, OTHER)
        assert "change" not in state
        for text in (*TEXTS, "a gull on the amber log"):
            assert await found(ask, text) == ("semantic", text, [])
        assert server.texts[-1] == "a gull on the amber log", "the question went to the new model"


async def test_a_change_goes_on_where_a_kill_left_it(opening: Opening, server: EmbeddingServer, tmp_path: Path) -> None:
    gate, killed = Gate(server, batches=1), tmp_path / "killed"
    async with opening(at(server), data=tmp_path / "alive") as services, asyncio.timeout(PATIENCE_S):
        await remembered(asker(services))
        await change(services, OTHER)
        await gate.reached.wait()
        shutil.copytree(tmp_path / "alive", killed)  # all that a kill would leave
        gate.opened.set()
    gate, server.seen = Gate(server, batches=0), []
    async with opening(at(server), data=killed) as services, asyncio.timeout(PATIENCE_S):
        ask = asker(services)
        assert (await model_of(ask))["change"]["done"] == 2
        gate.opened.set()
        async with held(services) as vault:  # opened: it goes on by itself
            await vault.background.wait()
        assert (await model_of(ask))["model"] == "other"
        assert [text for text in server.texts if text in TEXTS] == TEXTS[2:]
        assert await found(ask, TEXTS[0]) == ("semantic", TEXTS[0], [])


async def test_going_back_embeds_nothing_that_was_embedded(opening: Opening, server: EmbeddingServer) -> None:
    own = HashEmbedder()
    async with opening(at(server), load_model=lambda: own) as services:
        ask = asker(services)
        await remembered(ask)
        await changed(services, OTHER)
        await ask("remember", content="stored under the other model")
        asked: list[str] = []
        embed = own.embed
        own.embed = lambda texts: (asked.extend(texts), embed(texts))[1]  # type: ignore[method-assign]

        await changed(services, model_change.DEFAULT)
        state = await model_of(ask)
        assert (state["model"], state.get("own"), state["pending"]) == ("hash", None, 0)
        assert [text for text in asked if text != "strongroom"] == ["stored under the other model"]
        assert await found(ask, TEXTS[2]) == ("semantic", TEXTS[2], [])
        async with held(services) as vault:
            assert (await verify(vault)).agrees


async def test_a_change_under_way_is_undone_by_naming_the_model_that_serves(
    opening: Opening, server: EmbeddingServer
) -> None:
    gate = Gate(server, batches=1)
    async with opening(at(server)) as services, asyncio.timeout(PATIENCE_S):
        ask = asker(services)
        await remembered(ask)
        await change(services, OTHER)
        await gate.reached.wait()
        await change(services, model_change.DEFAULT)
        gate.opened.set()
        async with held(services) as vault:
            await vault.background.wait()
        state = await model_of(ask)
        assert (state["model"], "change" in state) == ("hash", False)


async def test_a_vault_nobody_asks_for_is_looked_into_when_a_command_left_work_there(
    opening: Opening, server: EmbeddingServer
) -> None:
    async with opening(at(server)) as services:
        entry = services.registry_cache.entry("main")
        async with opening(at(server)) as command:
            async with command.pool.lease(entry) as vault:
                await model_change.request(vault, OTHER)
            await command.control.write(lambda tx: registry.announce_work(tx, entry.vault_id))
        await services.registry_cache.refresh()
        assert services.pool.open_count == 0
        await services.pool.rounds.run_round()
        async with held(services) as vault:
            await vault.background.wait()
            assert await vault.db.read(model_choice.read_serving) == OTHER
        await services.pool.close_vault("main")
        await services.pool.rounds.run_round()
        assert services.pool.open_count == 0, "it is looked into once"


async def test_a_model_that_is_away_leaves_the_old_one_and_the_change_goes_on_later(
    opening: Opening, server: EmbeddingServer
) -> None:
    async with opening(at(server)) as services:
        ask = asker(services)
        await remembered(ask)
        await change(services, OTHER)
        await server.stop()
        async with held(services) as vault:
            await vault.background.wait()
        state = await model_of(ask)
        assert state["model"] == "hash"
        assert "cannot be reached" in state["change"]["reason"]
        assert await found(ask, TEXTS[3]) == ("semantic", TEXTS[3], [])


def _full(lease: Callable[[VaultEntry], AbstractAsyncContextManager[Vault]]) -> Any:
    """Refuses the first lease, as where every vault is in use."""
    failures = [Overloaded("every vault is in use", retry_after_s=1.0)]

    @asynccontextmanager
    async def refusing_once(entry: VaultEntry) -> AsyncIterator[Vault]:
        if failures:
            raise failures.pop()
        async with lease(entry) as vault:
            yield vault

    return refusing_once


@pytest.mark.parametrize("is_closed", [True, False])
async def test_a_vault_nobody_asks_for_goes_on_after_a_short_outage(
    opening: Opening, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch, *, is_closed: bool
) -> None:
    monkeypatch.setattr("vaults.embed.worker._BACKOFF_S", (0.0, 0.0))
    monkeypatch.setattr(pool_rounds, "GO_ON_S", 0.0)
    async with opening(at(server)) as services:
        await remembered(asker(services))
        await change(services, OTHER)
        await server.stop()
        async with held(services) as vault:
            await vault.background.wait()
            vault_id = vault.entry.vault_id
        if is_closed:
            await services.pool.evict(vault_id)
        else:
            with monkeypatch.context() as patch:
                patch.setattr(pool_rounds, "REST_S", -1.0)
                await services.pool.rounds.run_round()
        await server.start()
        monkeypatch.setattr(services.pool, "lease", _full(services.pool.lease))
        for _ in range(2):
            await services.pool.rounds.run_round()
        assert services.pool.open_count == 1
        async with held(services) as vault:
            await vault.background.wait()
            assert await vault.db.read(model_choice.read_serving) == OTHER


@pytest.mark.parametrize("row", [["NaN"] * 48, ["0.5"] * 16], ids=["no numbers", "another width"])
async def test_a_model_that_breaks_on_the_way_leaves_the_old_one_and_costs_no_text(
    opening: Opening, server: EmbeddingServer, row: list[str]
) -> None:
    async def reply(seen: Seen) -> Response | None:
        if seen.texts == [PROBE] or TEXTS[2] not in server.texts:
            return None
        rows = ", ".join([f"[{', '.join(row)}]"] * len(seen.texts))
        return Response(f'{{"embeddings": [{rows}]}}', media_type="application/json")

    server.reply = reply
    async with opening(at(server)) as services:
        ask = asker(services)
        await remembered(ask)
        await changed(services, OTHER)
        waiting = (await model_of(ask))["change"]
        assert (waiting["done"], waiting["reason"]) == (2, "the model fails on every text")
        assert await found(ask, TEXTS[3]) == ("semantic", TEXTS[3], [])


async def test_a_question_looks_once_which_model_serves(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_writer, "FLUSH_S", 3600.0)  # what is written behind the answers asks the vault as well
    ask, asked = asker(services), list[object]()
    await remembered(ask)
    await found(ask, TEXTS[0])
    async with held(services) as vault:
        assert await vault.notes.wait_for_index(PATIENCE_S)
        vault.start_background_work()
        await vault.background.wait()
    value = Reader.value

    def spied(tx: Reader, sql: str, params: Params = ()) -> Any:
        asked.extend([params] * ("vault_info" in sql))
        return value(tx, sql, params)

    monkeypatch.setattr(Reader, "value", spied)
    await found(ask, TEXTS[1])
    assert asked == [{"key": "model_serving"}]


async def test_vectors_are_made_in_order_and_then_those_of_texts_that_changed(services: Services) -> None:
    await remembered(asker(services))
    async with held(services) as vault:
        every = await vault.db.read(lambda tx: spare_vectors.next_unmade(tx, "m", 9))

        def write(tx: Writer) -> list[list[int]]:
            spare_vectors.store(tx, "m", [(each.passage, each.text_hash, b"") for each in every[:3]])
            tx.run(
                "UPDATE spare_embeddings SET text_hash = 'before' WHERE passage = :first", {"first": every[0].passage}
            )
            steps = []
            while found := spare_vectors.next_unmade(tx, "m", 9):
                steps.append([each.passage for each in found])
                spare_vectors.store(tx, "m", [(each.passage, each.text_hash, b"") for each in found])
            return steps

        assert await vault.db.write(write) == [[each.passage for each in every[3:]], [every[0].passage]]


async def test_what_is_changed_or_purged_meanwhile_leaves_no_old_vector(
    opening: Opening, server: EmbeddingServer
) -> None:
    gate = Gate(server, batches=2)
    async with opening(at(server)) as services, asyncio.timeout(PATIENCE_S):
        ask = asker(services)
        await remembered(ask)
        await change(services, OTHER)
        await gate.reached.wait()
        ids = [each["id"] for each in (await ask("memory_list", order="oldest")).content["memories"]]
        await ask("memory_update", id=ids[0], content="now about lighthouses")
        await ask("memory_forget", ids=[ids[1]], purge=True)
        async with held(services) as vault:
            kept = await vault.db.read(lambda tx: tx.all("SELECT passage FROM spare_embeddings"))
            assert len(kept) == 2
            gate.opened.set()
            await vault.background.wait()
            assert (await verify(vault)).agrees
        assert await found(ask, "now about lighthouses") == ("semantic", "now about lighthouses", [])


async def test_another_process_answers_with_the_new_model_at_once(opening: Opening, server: EmbeddingServer) -> None:
    async with opening(at(server)) as services, opening(at(server)) as beside:
        ask, ask_beside = asker(services), asker(beside)
        await remembered(ask)
        for text in TEXTS[:2]:  # once it has found something it knows its model
            assert await found(ask_beside, text) == ("semantic", text, [])
        await changed(services, OTHER)
        assert await found(ask_beside, TEXTS[4]) == ("semantic", TEXTS[4], [])
        stored = await ask_beside("remember", content="stored by the other process")
        assert stored.content["embedding"] == "ready"
        assert (await model_of(ask))["pending"] == 0
        assert await found(ask, "stored by the other process") == ("semantic", "stored by the other process", [])


@pytest.mark.parametrize("knows_its_model", [True, False])
async def test_a_vector_of_the_model_before_is_queued_not_stored(
    opening: Opening, server: EmbeddingServer, *, knows_its_model: bool
) -> None:
    async with opening(at(server)) as services, opening(at(server)) as beside:
        ask, ask_beside = asker(services), asker(beside)
        await remembered(ask)
        if knows_its_model:
            await ask_beside("remember", content="so that it knows its model")
        else:
            await ask_beside("memory_list")
        await changed(services, OTHER)
        await ask_beside("remember", content="stored with a vector of the old model")
        async with held(services) as vault:
            vault.start_background_work()
            await vault.background.wait()
            assert (await verify(vault)).agrees
            assert await vault.db.read(lambda tx: tx.all("SELECT DISTINCT LENGTH(vector) FROM embeddings")) == [(192,)]
        assert (await found(ask, "stored with a vector of the old model"))[1] == "stored with a vector of the old model"


async def test_a_text_that_the_new_model_refuses_is_left_to_keywords_and_stops_nothing(
    opening: Opening, server: EmbeddingServer
) -> None:
    async def refuse(seen: Seen) -> Response | None:
        return JSONResponse({"error": "too odd"}, 400) if TEXTS[0] in seen.texts else None

    server.reply = refuse
    async with opening(at(server)) as services:
        ask = asker(services)
        await remembered(ask)
        await changed(services, OTHER)
        state = await model_of(ask)
        assert (state["model"], state["pending"]) == ("other", 1)
        assert (await found(ask, TEXTS[1]))[1] == TEXTS[1]
        assert (await ask("search", query="amber")).content["hits"][0]["text"] == TEXTS[0]


async def test_vaults_with_different_models_are_searched_together(opening: Opening, server: EmbeddingServer) -> None:
    async with opening(at(server), vaults=("main", "side")) as services:
        ask = asker(services)
        await remembered(ask)
        await ask("remember", content="the tabby eats tuna at noon", vault="side")
        await changed(services, OTHER)
        answer = (await ask("search", query=TEXTS[0], vaults=["main", "side"], mode="semantic")).content
        assert answer["mode_used"] == "semantic"
        assert answer["hits"][0]["text"] == TEXTS[0]
        server.seen.clear()
        await ask("search", query="the tabby eats", vault="side", mode="semantic")
        assert server.texts == [], "a vault with the server's model asks no other"


async def test_a_vault_whose_model_is_gone_is_searched_by_word_and_doctor_says_so(
    opening: Opening, server: EmbeddingServer
) -> None:
    async with opening(at(server)) as services:
        await remembered(asker(services))
        await changed(services, OTHER)
    async with opening() as services:  # the endpoint is not configured any more
        answer = (await asker(services)("search", query=TEXTS[0])).content
        assert (answer["mode_used"], answer["hits"][0]["text"]) == ("keyword", TEXTS[0])
        assert "embedding.endpoint is not set" in answer["warnings"][0]
        async with held(services) as vault:
            check = await own_model(vault)
        assert check.status == "warning"
        assert "--model default" in check.todo
        await changed(services, model_change.DEFAULT)
        assert await found(asker(services), TEXTS[0]) == ("semantic", TEXTS[0], [])


async def test_vectors_of_the_model_before_go_after_a_week(
    opening: Opening, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opening(at(server)) as services:
        await remembered(asker(services))
        await changed(services, OTHER)
        async with held(services) as vault:
            kept = "SELECT COUNT(*) FROM spare_embeddings"
            assert await vault.db.read(lambda tx: tx.value(kept)) == len(TEXTS)
            monkeypatch.setattr(model_change, "KEPT_S", -1.0)
            vault.start_background_work()
            await vault.background.wait()
            assert await vault.db.read(lambda tx: tx.value(kept)) == 0
            assert not await vault.db.read(model_change.is_due)


@pytest.mark.parametrize("name", ["no-such-model", "/no/such/folder", OTHER])
async def test_a_model_that_cannot_serve_is_refused(services: Services, name: str) -> None:
    async with held(services) as vault:
        with pytest.raises(InvalidArgument, match="--model"):
            await model_change.request(vault, name)
        assert not await vault.db.read(model_change.is_due)


async def test_an_endpoint_that_does_not_know_the_model_refuses_the_change(
    opening: Opening, server: EmbeddingServer
) -> None:
    async def unknown(seen: Seen) -> Response | None:
        return JSONResponse({"error": "model not found"}, 404) if seen.texts == [PROBE] else None

    server.reply = unknown
    async with opening(at(server)) as services, held(services) as vault:
        with pytest.raises(InvalidArgument, match="cannot serve here"):
            await model_change.request(vault, OTHER)


async def test_the_bundled_model_serves_a_vault_beside_another_of_the_server(opening: Opening) -> None:
    async with opening({"embedding.model": "/another/model"}) as services:
        ask = asker(services)
        await remembered(ask)
        await changed(services, "all-MiniLM-L6-v2")
        state = await model_of(ask)
        assert (state["model"], state["width"], state["pending"]) == ("all-MiniLM-L6-v2", 384, 0)
        assert (await found(ask, "who writes down the ships' cedar?"))[1] == TEXTS[2]
