"""A vault with its own model, or on the way to one, is backed up, copied, renamed, damaged and rebuilt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ops.backup import restore
from ops.backup.folder_store import FolderStore
from ops.backup.restore import RestoreRequest
from ops.change_log.points import find_point
from ops.change_log.replay import materialise
from ops.doctor.vault_model import own_model
from ops.salvage.salvaging import salvage
from server import vault_admin
from server.services import Services
from tests.conftest import Opening, asker
from tests.embedding_servers import EmbeddingServer, embedding_server
from tests.fakes import HashEmbedder
from tests.harmed_vault import zero_pages
from tests.model_changes import OTHER, TEXTS, Gate, at, change, changed, found, held, model_of, remembered
from tests.ops.backup.restoring import as_owner_of, back_up, installation
from tests.ops.salvage.salvages import subject_of
from tests.work import PATIENCE_S
from vaults import pool_rounds
from vaults.db.connection import open_raw
from vaults.db.sql import Reader
from vaults.domain.maintenance import model_change, reindexing
from vaults.domain.maintenance.verification import verify
from vaults.index import model_choice
from vaults.settings import StorageSettings


@pytest.fixture(autouse=True)
def batches_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_change, "BATCH", 2)


@pytest.fixture(autouse=True)
def no_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """No round of the pool goes on with a change before the test does."""
    monkeypatch.setattr(pool_rounds, "SWEEP_AFTER_S", 3600.0)


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    async with embedding_server(model=HashEmbedder(48, revision="2")) as running:
        yield running


async def test_a_vault_restored_where_its_model_is_not_is_read_by_word_and_written(
    opening: Opening, server: EmbeddingServer, tmp_path: Path
) -> None:
    async with opening(at(server)) as services:
        await remembered(asker(services))
        await changed(services, OTHER)
        backup = await back_up(services, tmp_path / "backup")
    async with opening(vaults=(), data=tmp_path / "elsewhere") as services:
        report = await restore.restore(installation(services), backup, RestoreRequest(as_new="there"))
        assert [each.code for each in report.verified.findings] == ["model_away"]
        assert report.verified.agrees
        await services.registry_cache.refresh()
        ask = as_owner_of(services, "there")
        answer = (await ask("search", query=TEXTS[0])).content
        assert (answer["mode_used"], answer["hits"][0]["text"]) == ("keyword", TEXTS[0])
        assert f"{OTHER} is behind an endpoint, and embedding.endpoint is not set" in answer["warnings"][0]
        assert (await ask("remember", content="stored meanwhile")).content["embedding"] == "pending"
        async with held(services, "there") as vault:
            findings = (await verify(vault)).findings
            assert [each.code for each in findings] == ["model_away", "vectors_owed"]
            assert OTHER in findings[0].message
            check = await own_model(vault)
            assert (check.status, "search is by keyword" in check.message) == ("warning", True)
        await vault_admin.rename(services, "there", "yonder")
        assert (await vault_admin.copy(services, "yonder", "second")).name == "second"
    async with opening(at(server), vaults=(), data=tmp_path / "elsewhere") as services:
        ask = as_owner_of(services, "second")
        async with held(services, "second") as vault:
            vault.start_background_work()
            await vault.background.wait()
            assert not (await verify(vault)).findings
        assert await found(ask, "stored meanwhile") == ("semantic", "stored meanwhile", [])


async def test_a_folder_that_is_not_here_is_a_model_that_is_away(opening: Opening, tmp_path: Path) -> None:
    async with opening() as services:
        ask = asker(services)
        await remembered(ask)
        async with held(services) as vault:
            await vault.db.write(lambda tx: model_choice.want(tx, "/models/gone", "2026-01-01T00:00:00.000Z"))
            assert "/models/gone is not on this machine" in (await model_of(ask))["change"]["reason"]
            vault.start_background_work()
            await vault.background.wait()
            check = await own_model(vault)
            assert "the one before answers: The embedding model /models/gone" in check.message
            assert not (await verify(vault)).findings
            assert await found(ask, TEXTS[1]) == ("semantic", TEXTS[1], [])
            await vault.db.write(lambda tx: model_choice.set_serving(tx, "/models/gone", "2026-01-01T00:00:00.000Z"))
            answer = (await ask("search", query=TEXTS[1])).content
            assert (answer["mode_used"], answer["hits"][0]["text"]) == ("keyword", TEXTS[1])
            assert "/models/gone" in answer["warnings"][0]
            assert (await ask("remember", content="stored meanwhile")).content["embedding"] == "pending"
            assert "search is by keyword: The embedding model /models/gone" in (await own_model(vault)).message
            assert "/models/gone" in (await verify(vault)).findings[0].message
            await vault.db.write(lambda tx: model_choice.want(tx, None, "2026-01-01T00:00:00.000Z"))
            check = await own_model(vault)
            assert "search is by keyword: The embedding model /models/gone" in check.message
            assert check.message.endswith("changing to default: 0 of 6 passages")
            assert check.todo == "a running server goes on with it"


async def test_a_change_goes_on_where_its_vault_is_copied_or_restored(
    opening: Opening, server: EmbeddingServer, tmp_path: Path
) -> None:
    gate = Gate(server, batches=1)
    async with opening(at(server)) as services, asyncio.timeout(PATIENCE_S):
        await remembered(asker(services))
        await change(services, OTHER)
        await gate.reached.wait()
        backup = await back_up(services, tmp_path / "backup")
        await vault_admin.copy(services, "main", "second")
        gate.opened.set()
        server.reply = None
        await _change_ends(services, "second")
    async with opening(vaults=(), data=tmp_path / "without") as services:
        await restore.restore(installation(services), backup, RestoreRequest())
        await services.registry_cache.refresh()
        ask = asker(services)
        async with held(services) as vault:
            vault.start_background_work()
            await vault.background.wait()
            check = await own_model(vault)
            assert (check.status, "the one before answers" in check.message) == ("warning", True)
            assert not (await verify(vault)).findings
        assert await found(ask, TEXTS[0]) == ("semantic", TEXTS[0], [])
        assert OTHER in (await model_of(ask))["change"]["reason"]
        await changed(services, model_change.DEFAULT)
        assert "change" not in await model_of(ask)
    server.seen = []
    async with opening(at(server), vaults=(), data=tmp_path / "with") as services:
        await restore.restore(installation(services), backup, RestoreRequest())
        await services.registry_cache.refresh()
        await _change_ends(services, "main")
    assert [text for text in server.texts if text in TEXTS] == [*TEXTS[2:], TEXTS[0]], "two had their vector"


async def _change_ends(services: Services, name: str) -> None:
    async with held(services, name) as vault:
        vault.start_background_work()
        await vault.background.wait()
        assert not (await verify(vault)).findings
    ask = as_owner_of(services, name)
    assert await found(ask, TEXTS[0]) == ("semantic", TEXTS[0], [])
    assert (await model_of(ask))["model"] == "other"


async def test_a_vault_that_is_reindexed_on_the_way_gets_there(opening: Opening, server: EmbeddingServer) -> None:
    gate = Gate(server, batches=1)
    async with opening(at(server)) as services, asyncio.timeout(PATIENCE_S):
        await remembered(asker(services))
        await change(services, OTHER)
        await gate.reached.wait()
        async with held(services) as vault:
            await reindexing.rebuild(vault)
        gate.opened.set()
        await _change_ends(services, "main")


async def test_the_log_of_changes_holds_the_exchange(opening: Opening, server: EmbeddingServer, tmp_path: Path) -> None:
    to = tmp_path / "to"
    to.mkdir()
    flags, store = {**at(server), "backup.to": str(to), "backup.log": True}, FolderStore(to)
    async with opening(flags) as services:
        await remembered(asker(services))
        vault_id = services.registry_cache.entry("main").vault_id
    materialise(store, vault_id, tmp_path / "before.db", find_point(store, vault_id))
    async with opening(flags) as services:
        await changed(services, OTHER)
    materialise(store, vault_id, tmp_path / "after.db", find_point(store, vault_id))
    widths = [_widths(tmp_path / name) for name in ("before.db", "after.db", "vaults/main/vault.db")]
    assert widths == [([32], []), ([48], [32]), ([48], [32])]


def _widths(path: Path) -> tuple[list[int], list[int]]:
    """Of the vectors that are searched, and of the spare ones."""
    with closing(open_raw(path, StorageSettings(), writer=False)) as raw:
        tx = Reader(raw)
        assert tx.value("PRAGMA integrity_check") == "ok"
        searched, spare = (
            [int(length) // 4 for (length,) in tx.all(f"SELECT DISTINCT LENGTH(vector) FROM {table}")]
            for table in ("embeddings", "spare_embeddings")
        )
        return searched, spare


async def test_a_salvaged_vault_keeps_its_model_and_the_vectors_that_are_sound(
    opening: Opening, server: EmbeddingServer, tmp_path: Path
) -> None:
    async with opening(at(server)) as services:
        ask = asker(services)
        for number in range(20):
            await ask("remember", content=f"filler {number} " + f"word{number} " * 100)
        await remembered(ask)
        await changed(services, OTHER)
        entry = services.registry_cache.entry("main")
    folder = tmp_path / "vaults" / "main"
    zero_pages(folder / "vault.db", b"filler 7 ")
    with ThreadPoolExecutor(1) as thread:
        report = await salvage(replace(subject_of(folder, thread), entry=entry), [])
    assert (report.of("memories").lost > 0, report.vectors > len(TEXTS)) == (True, True)
    server.seen = []
    async with opening(at(server)) as services:
        await _change_ends(services, "main")
    assert server.texts[-1] == TEXTS[0], "the question"
    assert not set(server.texts[:-1]) & set(TEXTS), "no vector was made again"
