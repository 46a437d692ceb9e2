"""Vaults of a cluster are made, renamed and deleted through whichever server, and seen by all."""

from __future__ import annotations

from pathlib import Path

import pytest

from server import vault_admin
from tests.cluster.open_servers import OpenServers
from vaults.errors import AlreadyExists, ConfirmationRequired, Conflict, InvalidArgument, NotFound


async def test_a_vault_made_through_one_server_is_first_opened_by_another(servers: OpenServers) -> None:
    a, b = servers.opened
    entry = await vault_admin.create(a.services, "plans")
    await b.services.registry_cache.refresh()
    assert (await b.asking("plans")("remember", content="tea is at four")).ok
    assert b.cluster.held.is_here(entry.vault_id)
    with pytest.raises(AlreadyExists):
        await vault_admin.create(b.services, "plans")


async def test_a_folder_of_one_machine_is_refused(servers: OpenServers, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="one machine"):
        await vault_admin.create(servers.opened[0].services, "plans", tmp_path)


async def test_a_vault_renamed_through_a_server_that_does_not_have_it_goes_on_where_it_is(
    servers: OpenServers,
) -> None:
    a, b = servers.opened
    assert (await a.asking()("remember", content="tea is at four")).ok
    await vault_admin.rename(b.services, "main", "chief")
    await a.services.registry_cache.refresh()
    await a.services.access_cache.refresh()
    found = await a.asking("chief")("memory_list")
    assert found.ok
    assert [each["content"] for each in found.content["memories"]] == ["tea is at four"]
    assert not (await a.asking("main")("memory_list")).ok


async def test_a_deleted_vault_is_backed_up_and_gone_from_the_cluster(servers: OpenServers) -> None:
    a, b = servers.opened
    assert (await a.asking()("remember", content="tea is at four")).ok
    entry = a.entry()
    with pytest.raises(ConfirmationRequired):
        await vault_admin.delete(b.services, "main", confirm="other")
    gone = await vault_admin.delete(b.services, "main", confirm="main")
    assert gone.backup is not None
    assert gone.backup.exists()
    await a.services.registry_cache.refresh()
    for server in (a, b):
        assert not server.services.registry_cache.known("main")
        assert not list(server.cluster.held.folder_of(entry).glob("vault.db*"))
    with pytest.raises(NotFound):
        a.cluster.held.placements.holder(entry.vault_id)
    with a.cluster.connections.use() as connection:
        for table in ("vault_log", "vault_base", "vault_base_part"):
            assert connection.execute(f"SELECT count(*) FROM strongroom.{table}").fetchone() == (0,)


async def test_what_needs_files_of_one_machine_is_refused(servers: OpenServers) -> None:
    services = servers.opened[0].services
    with pytest.raises(Conflict):
        await vault_admin.delete_lost(services, "main", confirm="main")


async def test_an_archived_vault_comes_back_as_it_was(servers: OpenServers) -> None:
    a, b = servers.opened
    assert (await a.asking()("remember", content="tea is at four")).ok
    await vault_admin.archive(b.services, "main")
    await a.services.registry_cache.refresh()
    assert not (await a.asking()("memory_list")).ok
    await vault_admin.unarchive(b.services, "main")
    await a.services.registry_cache.refresh()
    assert (await a.asking()("memory_list")).ok
