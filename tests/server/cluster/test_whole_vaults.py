"""A vault is copied and put in the place of another one whole, or not at all, while servers serve.

Covers server.cluster.cluster_seat, server.cluster.vault_copy, vaults.cluster.control.arriving_vaults,
vaults.cluster.file_bases.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from server import vault_admin
from server.cluster import vault_copy, whole_vaults
from server.cluster.vault_departure import restore_now
from server.cluster.whole_vaults import RestingDatabase
from tests.cluster.open_servers import OpenServer, OpenServers, contents
from tests.vaults.cluster.postgres.conftest import lose
from vaults import registry
from vaults.cluster import local_copies
from vaults.cluster.control import arriving_vaults
from vaults.cluster.failures import Fenced
from vaults.cluster.log_replay import build_copy
from vaults.cluster.postgres import bases
from vaults.errors import AlreadyExists, Conflict, InvalidArgument, NotFound, StorageFull
from vaults.registry import VaultRules

TABLES = ("placement", "vault_base", "vault_base_part")


def counted(server: OpenServer) -> dict[str, int]:
    with server.cluster.connections.use() as connection:
        rows = {
            each: connection.execute(f"SELECT count(*) FROM strongroom.{each}".encode()).fetchone() for each in TABLES
        }
    return {name: row[0] for name, row in rows.items() if row is not None}


def entries_of(server: OpenServer) -> int:
    with server.cluster.connections.use() as connection:
        row = connection.execute("SELECT count(*) FROM strongroom.vault_log").fetchone()
    return -1 if row is None else int(row[0])


class Killed(BaseException):
    """The process ends here."""


def killed(*_: object) -> Iterator[bytes]:
    raise Killed


# -- copies


async def test_a_copy_has_what_was_answered_and_goes_its_own_way(servers: OpenServers) -> None:
    a, b = servers.opened
    assert (await a.asking()("remember", content="tea is at four")).ok
    assert (await a.asking()("note_write", path="plan.md", content="# Plan\n\nTea at four.\n")).ok
    await a.services.control.write(lambda tx: registry.set_rules(tx, "main", VaultRules("ask", "ask")))
    entry = await vault_admin.copy(b.services, "main", "second")
    assert a.cluster.held.is_here(a.entry().vault_id), "the first one is served where it was"
    await a.services.registry_cache.refresh()
    assert (entry.write_mode, entry.vault_id != a.entry().vault_id) == ("ask", True)
    assert await contents(b, "second") == {"tea is at four"}
    assert "Tea at four" in (await b.asking("second")("note_read", path="plan.md")).text
    assert (await a.asking()("remember", content="cake is at five")).ok
    assert await contents(b, "second") == {"tea is at four"}
    assert await b.cluster.held.hand_over(entry.vault_id, 5.0, a.id)
    assert await contents(a, "second") == {"tea is at four"}


async def test_a_vault_that_nobody_opened_is_copied_as_an_empty_one(servers: OpenServers) -> None:
    a, b = servers.opened
    await vault_admin.create(a.services, "plans")
    await vault_admin.copy(b.services, "plans", "more")
    assert await contents(b, "more") == set()


async def test_a_copy_is_refused_as_on_one_machine(servers: OpenServers) -> None:
    services = servers.opened[0].services
    with pytest.raises(AlreadyExists):
        await vault_admin.copy(services, "main", "main")
    with pytest.raises(NotFound):
        await vault_admin.copy(services, "none", "second")
    with pytest.raises(InvalidArgument):
        await vault_admin.copy(services, "main", "no name")


async def test_a_copy_that_does_not_fit_on_the_disk_is_refused_by_name(
    servers: OpenServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = servers.opened
    assert (await a.asking()("remember", content="tea is at four")).ok

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(vault_copy, "restore_now", full)
    with pytest.raises(StorageFull):
        await vault_admin.copy(b.services, "main", "second")


async def test_nothing_is_left_of_a_copy_that_failed(servers: OpenServers, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = servers.opened
    assert (await a.asking()("remember", content="tea is at four")).ok
    before = counted(a)
    with monkeypatch.context() as patched:
        patched.setattr(whole_vaults, "encode_base", killed)
        with pytest.raises(Killed):
            await vault_admin.copy(b.services, "main", "second")
    assert counted(a) == before
    await vault_admin.copy(b.services, "main", "second")
    assert await contents(b, "second") == {"tea is at four"}


async def test_a_copy_that_was_killed_is_listed_nowhere_and_goes_with_the_next_one(
    servers: OpenServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = servers.opened
    assert (await a.asking()("remember", content="tea is at four")).ok
    before = counted(a)
    with monkeypatch.context() as patched:
        patched.setattr(arriving_vaults, "discard", killed)
        patched.setattr(bases, "show_in", killed)
        with pytest.raises(Killed):
            await vault_admin.copy(b.services, "main", "second")
    assert counted(a)["placement"] == before["placement"] + 1
    await arriving_vaults.sweep(a.services.control)
    assert counted(a)["placement"] == before["placement"] + 1, "its server may be at it"
    assert {each.name for each in await a.services.control.read(registry.list_vaults)} == {"main"}
    lose(b.cluster.connections, b.id)
    await arriving_vaults.sweep(a.services.control)
    assert counted(a) == before


async def test_a_copy_of_a_server_that_was_taken_for_dead_is_not_registered(
    servers: OpenServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = servers.opened
    assert (await a.asking()("remember", content="tea is at four")).ok
    uploaded = bases.upload

    def late(*args: object) -> object:
        base = uploaded(*args)  # type: ignore[arg-type]
        lose(b.cluster.connections, b.id)
        with b.cluster.connections.use() as connection:
            connection.execute("DELETE FROM strongroom.placement WHERE vault = %s", (base.placement.vault,))
        return base

    monkeypatch.setattr(bases, "upload", late)
    with pytest.raises(Fenced):
        await vault_admin.copy(b.services, "main", "second")
    assert {each.name for each in await a.services.control.read(registry.list_vaults)} == {"main"}


# -- in the place of another


async def resting(server: OpenServer, folder: Path) -> RestingDatabase:
    """The vault as its log has it now."""
    file = folder / "vault.db"
    restore_now(server.cluster.connections, server.entry(), file)
    return RestingDatabase(file, 4096)


async def test_a_vault_is_replaced_wherever_it_is_and_goes_on_from_there(servers: OpenServers, tmp_path: Path) -> None:
    a, b = servers.opened
    assert (await a.asking()("remember", content="tea is at four")).ok
    then = await resting(a, tmp_path)
    assert (await a.asking()("remember", content="cake is at five")).ok
    vault = a.entry().vault_id
    done = await whole_vaults.replace(b.services.control, b.cluster.seat(), vault, then, lambda tx: "said")
    assert done.said == "said"
    assert not a.cluster.held.is_here(vault)
    assert entries_of(a) == 0
    assert await contents(b) == {"tea is at four"}
    assert (await b.asking()("remember", content="supper is at eight")).ok
    assert await b.cluster.held.hand_over(vault, 5.0, a.id)
    assert await contents(a) == {"tea is at four", "supper is at eight"}


async def test_a_standby_copy_of_what_was_replaced_is_of_no_use(servers: OpenServers, tmp_path: Path) -> None:
    a, b = servers.opened
    then = await resting(a, tmp_path)
    assert (await a.asking()("remember", content="tea is at four")).ok
    vault, held = a.entry().vault_id, b.cluster.held
    copy = build_copy(held.log, vault, tmp_path / "standby", held.placements.holder(vault).head)
    assert copy is not None
    await whole_vaults.replace(b.services.control, b.cluster.seat(), vault, then, lambda tx: None)
    placement = held.placements.take(vault, b.id)
    assert placement is not None
    assert local_copies.lay_out(held.log, placement, tmp_path / "laid" / "vault.db", copy).files == "restored"
    assert held.placements.release(placement)
    assert await contents(a) == set()


@pytest.mark.parametrize("step", ["upload", "show_in"])
async def test_a_replacement_that_was_killed_leaves_what_was_there(
    servers: OpenServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    a, b = servers.opened
    then = await resting(a, tmp_path)
    assert (await a.asking()("remember", content="tea is at four")).ok
    vault = a.entry().vault_id
    with monkeypatch.context() as patched:
        patched.setattr(bases, step, killed)
        with pytest.raises(Killed):
            await whole_vaults.replace(b.services.control, b.cluster.seat(), vault, then, lambda tx: None)
    assert await contents(b) == {"tea is at four"}
    assert (await b.asking()("remember", content="cake is at five")).ok
    await whole_vaults.replace(b.services.control, b.cluster.seat(), vault, then, lambda tx: None)
    assert await contents(a) == set()


async def test_a_replacement_is_fenced_by_whoever_took_the_vault_meanwhile(
    servers: OpenServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = servers.opened
    then = await resting(a, tmp_path)
    assert (await a.asking()("remember", content="tea is at four")).ok
    vault, uploaded = a.entry().vault_id, bases.upload

    def late(*args: object) -> object:
        base = uploaded(*args)  # type: ignore[arg-type]
        with b.cluster.connections.use() as connection:
            connection.execute("UPDATE strongroom.placement SET server = NULL, epoch = epoch + 1")
        return base

    with monkeypatch.context() as patched:
        patched.setattr(bases, "upload", late)
        with pytest.raises(Fenced):
            await whole_vaults.replace(b.services.control, b.cluster.seat(), vault, then, lambda tx: None)
    assert await contents(a) == {"tea is at four"}


async def test_a_vault_that_the_cluster_has_is_not_added(servers: OpenServers, tmp_path: Path) -> None:
    a = servers.opened[0]
    then = await resting(a, tmp_path)
    with pytest.raises(Conflict):
        await whole_vaults.add(a.services.control, a.cluster.seat(), a.entry().vault_id, then, lambda tx: None)
    assert await contents(a) == set()
