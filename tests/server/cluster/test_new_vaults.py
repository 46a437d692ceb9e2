"""Vaults that are made in a cluster, where no folder of one machine is the place for their files.

Covers server.cluster.new_vaults, vaults.cluster.control.new_vaults.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from server import vault_admin
from server.cli import vault_life
from server.cli.runtime import open_control
from server.cluster import vault_life as shared_vault_life
from server.settings import LoadedSettings, load
from server.setup.first_start import FIRST_VAULT, FirstStart, first_start
from tests.cluster.open_servers import OpenServers, open_servers
from tests.conftest import QUIET
from vaults import registry
from vaults.errors import AlreadyExists, InvalidArgument


@pytest.fixture
async def servers(url: str, tmp_path: Path) -> AsyncIterator[OpenServers]:
    async with open_servers(tmp_path, url, vaults=()) as opened:
        yield opened


async def test_a_vault_made_on_one_server_is_served_by_the_one_that_takes_it_first(servers: OpenServers) -> None:
    a, b = servers.opened
    entry = await vault_admin.create(a.services, "main")
    await b.services.registry_cache.refresh()
    preferred = [await each.cluster.held.locate(entry) for each in (a, b)]
    assert len({None if each is None else each.id for each in preferred} - {None}) == 1
    assert (await b.asking()("remember", content="tea is at four")).ok
    assert (await b.asking()("status")).ok
    assert await b.cluster.held.hand_over(entry.vault_id, 5.0)
    found = await a.asking()("memory_list", limit=10)
    assert [each["content"] for each in found.content["memories"]] == ["tea is at four"]


async def test_a_vault_whose_log_should_be_there_is_never_made_anew(servers: OpenServers) -> None:
    a, _ = servers.opened
    entry = await a.services.control.write(lambda tx: registry.create(tx, "main"))
    await asyncio.to_thread(a.cluster.held.placements.register, entry.vault_id)
    await a.services.registry_cache.refresh()
    refused = await a.asking()("memory_list")
    assert not refused.ok
    assert "missing" in refused.text


async def test_a_folder_to_be_served_in_place_is_refused_by_name(servers: OpenServers, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="one machine"):
        await vault_admin.create(servers.opened[0].services, "notes", tmp_path / "notes")


async def test_of_two_servers_that_make_a_vault_of_one_name_one_does(servers: OpenServers) -> None:
    made = await asyncio.gather(
        *(vault_admin.create(each.services, "main") for each in servers.opened), return_exceptions=True
    )
    assert sorted(type(each) for each in made if isinstance(each, Exception)) == [AlreadyExists]


async def test_servers_that_start_first_at_once_make_one_vault_and_one_token(url: str, tmp_path: Path) -> None:
    def loaded(name: str) -> LoadedSettings:
        return load(tmp_path / name, flags={"cluster.url": url}, environment={})

    async def start(name: str) -> FirstStart | None:
        async with open_control(loaded(name)) as control:
            return await first_start(control, loaded(name))

    started = await asyncio.gather(start("one"), start("two"))
    assert sum(each is not None for each in started) == 1
    async with open_control(loaded("three")) as control:
        assert [each.name for each in await control.read(registry.list_vaults)] == [FIRST_VAULT]
        assert await control.read(lambda tx: tx.value("SELECT count(*) FROM tokens")) == 1


async def test_commands_rename_copy_and_delete_what_a_server_holds(servers: OpenServers) -> None:
    a, b = servers.opened
    await vault_admin.create(a.services, "main")
    assert (await a.asking()("remember", content="tea is at four")).ok
    loaded = load(
        servers.folder / "command", flags={**QUIET, "cluster.url": servers.url, "cluster.lease_s": 1.0}, environment={}
    )
    assert (await vault_life._rename(loaded, "main", "renamed")).name == "renamed"
    await b.services.registry_cache.refresh()
    assert b.services.registry_cache.known("renamed")
    assert (await vault_life._copy(loaded, "renamed", "second")).name == "second"
    await b.services.registry_cache.refresh()
    found = await b.asking("second")("memory_list")
    assert [each["content"] for each in found.content["memories"]] == ["tea is at four"]
    with pytest.raises(InvalidArgument, match="--no-backup"):
        await vault_life._delete(loaded, "renamed", "renamed", keep=False)
    assert (await vault_life._delete(loaded, "renamed", "renamed", keep=True)).backup is not None
    await b.services.registry_cache.refresh()
    assert not b.services.registry_cache.known("renamed")


async def test_a_vault_that_is_being_deleted_is_given_to_nobody_though_it_is_closed(
    servers: OpenServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, _ = servers.opened
    entry = await vault_admin.create(a.services, "main")
    held, given, back_up = a.cluster.held, [], shared_vault_life.back_up_last

    async def back_up_asked(*args: Any) -> Path:
        given.append(asyncio.create_task(held.hand_over(entry.vault_id, 5.0)))
        for _ in range(9):  # more than a hand-over asks of the database
            await asyncio.to_thread(held.placements.holder, entry.vault_id)
        assert not given[0].done()
        return await back_up(*args)

    monkeypatch.setattr(shared_vault_life, "back_up_last", back_up_asked)
    assert (await vault_admin.delete(a.services, "main", confirm="main")).backup is not None
    assert await given[0] is False
