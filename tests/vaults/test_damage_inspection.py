"""Damage inside ``vault.db`` is found without anybody asking, and shuts that vault out alone.

Covers vaults.database_checks, vaults.pool_inspections, vaults.db.failures, vaults.db.integrity.
"""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from auth.principal import owner
from auth.roles import Role
from server import vault_admin
from server.call import Caller
from server.services import Services, open_services
from server.settings import load
from server.tools import discover
from tests.blanks import lay_out
from tests.conftest import Asking, Opening, asker
from tests.fakes import HashEmbedder
from vaults import pool_inspections, pool_rounds
from vaults.db import integrity
from vaults.db.connection import open_raw
from vaults.settings import StorageSettings

PAGE = 4096
Harm = Callable[[Path], None]
MARKER = b"marker of the vault"


def _in(services: Services, vault: str) -> Asking:
    return asker(services, Caller(owner("cli"), vault, Role.ADMIN, "cli"))


def _root(path: Path, name: str) -> int:
    raw = open_raw(path, StorageSettings(), writer=False)
    try:
        return int(raw.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0])
    finally:
        raw.close()


def _change(path: Path, page: int, change: Callable[[bytes], bytes]) -> None:
    data = bytearray(path.read_bytes())
    at = slice((page - 1) * PAGE, page * PAGE)
    data[at] = change(bytes(data[at]))
    path.write_bytes(data)


def _noise(page: bytes) -> bytes:
    return random.Random(1).randbytes(len(page))


def _half(page: bytes) -> bytes:
    return page[: len(page) // 2] + bytes(len(page) - len(page) // 2)


def _root_of(name: str, change: Callable[[bytes], bytes]) -> Harm:
    return lambda path: _change(path, _root(path, name), change)


def _leaf_with(text: bytes, change: Callable[[bytes], bytes]) -> Harm:
    return lambda path: _change(path, path.read_bytes().index(text) // PAGE + 1, change)


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // PAGE * 2 // 3 * PAGE])


def _swapped(path: Path) -> None:
    one, other = _root(path, "memories"), _root(path, "embeddings")
    data = path.read_bytes()
    _change(path, one, lambda _: data[(other - 1) * PAGE : other * PAGE])


def _freelist(path: Path) -> None:
    """The list of free pages begins with one that is in use: the next write would overwrite it."""
    used = _root(path, "memories")
    _change(path, 1, lambda page: page[:32] + used.to_bytes(4) + (1).to_bytes(4) + page[40:])


def _longer_freelist(path: Path) -> None:
    _change(path, 1, lambda page: page[:36] + (int.from_bytes(page[36:40]) + 7).to_bytes(4) + page[40:])


def _pointer(page: bytes) -> bytes:
    """A cell pointer that leads nowhere."""
    return page[:8] + b"\xff\xff" + page[10:]


DAMAGES: dict[str, Harm] = {
    "a table is gone": _root_of("memories", lambda page: bytes(len(page))),
    "a table is noise": _root_of("memories", _noise),
    "an index is noise": _root_of("embeddings_by_text", _noise),
    "an index is gone": _root_of("embeddings_by_text", lambda page: bytes(len(page))),
    "vectors are noise": _root_of("embeddings", _noise),
    "words are noise": _root_of("passages_fts_data", _noise),
    "rows are gone": _leaf_with(MARKER, lambda page: bytes(len(page))),
    "rows are noise": _leaf_with(MARKER, _noise),
    "half a page was written": _leaf_with(MARKER, _half),
    "a pointer leads nowhere": _leaf_with(MARKER, _pointer),
    "a page of another table": _swapped,
    "the end is missing": _truncated,
    "a used page is listed as free": _freelist,
    "the free pages are miscounted": _longer_freelist,
    "a table seldom read is noise": _root_of("corrections", _noise),
    "a table seldom read is gone": _root_of("audit", lambda page: bytes(len(page))),
}


@pytest.fixture
def data(ground: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ground, tmp_path, dirs_exist_ok=True))


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with two vaults, made once."""
    data = tmp_path_factory.mktemp("ground")
    asyncio.run(_fill(data))
    return data


async def _fill(data: Path) -> None:
    loaded = load(data, flags={"storage.reserve_mb": 0}, environment={})
    lay_out(data, ("harmed", "healthy"))
    async with open_services(loaded.settings, loaded.data, discover(), load_model=HashEmbedder) as services:
        for name in ("harmed", "healthy"):
            await vault_admin.create(services, name)
            texts = [f"{MARKER.decode()} number {at} " + f"word{at} " * 60 for at in range(20)]
            await asyncio.gather(*(_in(services, name)("remember", content=text) for text in texts))


@pytest.mark.parametrize("damage", DAMAGES)
async def test_damage_is_found_without_anybody_asking(
    opening: Opening, data: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setattr(integrity, "WHOLE_PAGES", 0)  # as in a vault too big to be looked through when it is opened
    DAMAGES[damage](data / "vaults" / "harmed" / "vault.db")
    async with opening(vaults=()) as services:
        await _in(services, "harmed")("status")
        await services.pool.inspections.inspect()
        for _ in range(2):
            refused = await _in(services, "harmed")("remember", content="new")
            assert refused.code == "vault_quarantined"
            assert refused.content["error"]["details"]["reason"] == "damaged"
        assert set(services.pool.quarantined) == {"harmed"}
        assert (await _in(services, "healthy")("remember", content="new")).ok
        await services.pool.inspections.inspect()
        assert set(services.pool.quarantined) == {"harmed"}


async def test_known_damage_outlasts_a_restart_until_a_backup_is_put_in_place(
    opening: Opening, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integrity, "WHOLE_PAGES", 0)
    path = data / "vaults" / "harmed" / "vault.db"
    sound = path.read_bytes()
    DAMAGES["half a page was written"](path)
    async with opening(vaults=()) as services:
        assert (await _in(services, "harmed")("status")).ok
        await services.pool.inspections.inspect()
    async with opening(vaults=()) as services:
        assert (await _in(services, "harmed")("status")).code == "vault_quarantined"
    path.write_bytes(sound)
    async with opening(vaults=()) as services:
        assert (await _in(services, "harmed")("recall", query="marker")).content["hits"]
        await services.pool.inspections.inspect()
        assert not services.pool.quarantined


@pytest.mark.parametrize("damage", ["rows are noise", "an index is gone", "words are noise"])
async def test_damage_of_a_small_vault_is_met_when_it_is_opened(opening: Opening, data: Path, damage: str) -> None:
    DAMAGES[damage](data / "vaults" / "harmed" / "vault.db")
    async with opening(vaults=()) as services:
        assert (await _in(services, "harmed")("vaults", action="list")).code == "vault_quarantined"


@pytest.mark.parametrize("asked", [True, False], ids=["in use", "not in use"])
async def test_the_look_goes_on_in_the_background(
    opening: Opening, data: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, asked: bool
) -> None:
    monkeypatch.setattr(integrity, "WHOLE_PAGES", 0)
    monkeypatch.setattr(pool_inspections, "INSPECT_S", 0.01)
    DAMAGES["half a page was written"](data / "vaults" / "harmed" / "vault.db")
    async with opening(vaults=()) as services:
        if asked:
            assert (await _in(services, "harmed")("status")).ok
        async with asyncio.timeout(60):
            while not services.pool.quarantined:  # noqa: ASYNC110  nobody tells
                await asyncio.sleep(0.01)
        assert (await _in(services, "harmed")("status")).code == "vault_quarantined"
        assert (await _in(services, "healthy")("status")).ok
    assert [record.getMessage() for record in caplog.records if "harmed" in record.getMessage()]
    assert str(data) not in caplog.text


async def test_every_process_hears_of_damage_that_one_found(
    opening: Opening, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integrity, "WHOLE_PAGES", 0)
    monkeypatch.setattr(pool_rounds, "SWEEP_AFTER_S", 1_000.0)  # neither may look before it is asked to
    monkeypatch.setattr(pool_inspections, "INSPECT_S", 1_000.0)
    DAMAGES["half a page was written"](data / "vaults" / "harmed" / "vault.db")
    async with opening(vaults=()) as first, opening(vaults=()) as second:
        for services in (first, second):
            assert (await _in(services, "harmed")("status")).ok
        await second.pool.inspections.inspect()
        assert not second.pool.quarantined, "the first holds the lease and does such work"
        await first.pool.inspections.inspect()
        await second.pool.rounds.run_round()
        for services in (first, second):
            assert set(services.pool.quarantined) == {"harmed"}
            assert (await _in(services, "harmed")("status")).code == "vault_quarantined"


@pytest.mark.parametrize("pages", [0, integrity.WHOLE_PAGES], ids=["by table", "whole"])
async def test_a_sound_vault_is_never_taken_for_damaged_however_much_is_written(
    services: Services, monkeypatch: pytest.MonkeyPatch, pages: int
) -> None:
    monkeypatch.setattr(integrity, "WHOLE_PAGES", pages)
    ask = _in(services, "main")
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        path = vault.db.path

    async def write() -> None:
        for at in range(20):
            stored = await ask("remember", content=f"number {at} " + f"word{at} " * 50)
            if at % 3 == 0:
                assert (await ask("memory_forget", ids=[stored.content["id"]], purge=True)).ok

    writing = asyncio.create_task(write())
    seen = 0
    while not writing.done() or seen == 0:
        for part in await asyncio.to_thread(integrity.list_parts, path, StorageSettings()):
            assert not await asyncio.to_thread(integrity.is_damaged, path, StorageSettings(), part), part
        seen += 1
    await writing
