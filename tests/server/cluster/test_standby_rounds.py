"""The server that comes after a vault's holder keeps a copy of it, and has it ready the day the holder dies.

Covers vaults.cluster.standby_rounds, server.cluster.parts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from server.cluster import parts, vault_life
from tests.cluster.open_servers import OpenServer, OpenServers, open_servers, until
from tests.work import PATIENCE_S
from vaults.cluster import hand_overs, local_copies, standby_rounds
from vaults.cluster.held_vaults import RESTORES
from vaults.cluster.postgres.connections import Connections
from vaults.cluster.postgres.large_vaults import LargeVaults
from vaults.cluster.rendezvous import prefer
from vaults.cluster.standby_copies import StandbyCopies


def every_vault(connections: Connections, _above_mb: int) -> LargeVaults:
    """Whatever its size."""
    return LargeVaults(connections, 0)


@pytest.fixture(autouse=True)
def quick_rounds(monkeypatch: pytest.MonkeyPatch, unbalanced: None) -> None:
    monkeypatch.setattr(standby_rounds, "ROUND_S", 0.0)
    monkeypatch.setattr(parts, "LargeVaults", every_vault)


@pytest.fixture
async def servers(url: str, tmp_path: Path) -> AsyncIterator[OpenServers]:
    async with open_servers(tmp_path, url, ("a", "b", "c")) as opened:
        yield opened


def copies(server: OpenServer) -> list[str]:
    standby = server.cluster.held.standby
    assert standby is not None
    return sorted(path.name for path in standby.folder.iterdir())


def in_order(servers: OpenServers) -> list[OpenServer]:
    """The holder of the vault first, then the server it goes to when that one dies, and so on."""
    left = list(servers.opened)
    order = [next(each for each in left if each.cluster.held.count)]
    vault = left[0].entry().vault_id
    left.remove(order[0])
    while left:
        known = [each for each in left[0].cluster.membership.servers if each.id in {server.id for server in left}]
        first = prefer(vault, known)
        assert first is not None
        order.append(next(each for each in left if each.id == first.id))
        left.remove(order[-1])
    return order


async def test_the_next_server_has_the_vault_ready_when_its_holder_dies(
    servers: OpenServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder, second, third = in_order(servers)
    copy = f"{holder.entry().vault_id}.db"
    assert (await holder.asking()("remember", content="tea is at four")).ok
    await until(lambda: copies(second) == [copy])
    assert (await holder.asking()("remember", content="cake is at five")).ok
    assert copies(third) == copies(holder) == []
    monkeypatch.setattr(local_copies, "restore", None)
    held, gone = second.cluster.held, holder.id
    for _ in range(RESTORES):
        await held._restores.acquire()
    holder.die()
    await until(lambda: second.cluster.membership.find(gone) is None)
    asked = asyncio.create_task(contents(second))
    await until(lambda: held.placements.holder(second.entry().vault_id).server == second.id)
    await beats(second, 3)
    assert copies(second) == [copy], "it is taken, and not claimed yet"
    for _ in range(RESTORES):
        held._restores.release()
    assert await asked == {"tea is at four", "cake is at five"}
    await until(lambda: copies(third) == [copy])
    assert copies(second) == []


async def contents(server: OpenServer) -> set[str]:
    """As a caller sees them who calls again where that is said, as of a lease that a busy machine let run out."""
    async with asyncio.timeout(PATIENCE_S):
        while not (found := await server.asking()("memory_list", limit=100)).ok:
            assert found.content["error"]["retryable"], found.text
            await asyncio.sleep(0.05)
    return {each["content"] for each in found.content["memories"]}


async def beats(server: OpenServer, count: int) -> None:
    """Returns after so many."""
    heard: list[None] = []
    server.cluster.membership.on_beat.append(lambda: heard.append(None))
    await until(lambda: len(heard) >= count)


def said(server: OpenServer) -> str | None:
    """Who has a copy, as all are told."""
    return server.cluster.held.placements.holder(server.entry().vault_id).standby


async def test_a_vault_goes_to_whoever_has_its_copy_and_then_where_it_belongs(
    servers: OpenServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder, second, _ = in_order(servers)
    vault = holder.entry().vault_id
    home = next(each for each in servers.opened if each.cluster.held.is_preferred(vault))
    if holder is not home:
        await holder.cluster.held.hand_over(vault, 5.0, home.id)
        await home.asking()("memory_list")
        holder, second, _ = in_order(servers)
    await until(lambda: said(holder) == second.id)
    assert await holder.cluster.held.hand_over(vault, 5.0)
    await beats(second, 3)
    located = await home.cluster.held.locate(home.entry())
    assert located is not None
    assert located.id == second.id, "though it belongs to the one that was asked"
    asked: list[None] = []
    restore = local_copies.restore
    monkeypatch.setattr(local_copies, "restore", lambda *given: (asked.append(None), restore(*given))[1])
    with monkeypatch.context() as patched:
        patched.setattr(StandbyCopies, "make", lambda *given: False)
        assert (await second.asking()("memory_list")).ok
        monkeypatch.setattr(hand_overs, "IDLE_S", 0.0)
        await beats(second, 4)
        assert second.cluster.held.is_here(vault), "it waits for the copy there"
    await until(lambda: home.cluster.held.placements.holder(vault).server is None)
    assert (await home.asking()("memory_list")).ok
    assert home.cluster.held.is_here(vault)
    assert asked == []


async def test_a_server_that_drains_leaves_its_copies_to_another(servers: OpenServers) -> None:
    holder, second, third = in_order(servers)
    await until(lambda: len(copies(second)) == 1)
    second.cluster.membership.drain()
    await until(lambda: not copies(second) and len(copies(third)) == 1)
    assert holder.cluster.held.count


async def test_nothing_stays_of_a_vault_that_was_deleted(servers: OpenServers) -> None:
    holder, second, _ = in_order(servers)
    await until(lambda: len(copies(second)) == 1)
    await vault_life.delete(holder.services, holder.cluster.held, "main", confirm="main")
    await until(lambda: not copies(second))


async def test_copies_are_kept_where_the_disk_has_room(servers: OpenServers, monkeypatch: pytest.MonkeyPatch) -> None:
    _, second, _ = in_order(servers)
    standby = second.cluster.held.standby
    assert standby is not None
    await until(lambda: standby.state().copies == 1)
    reserve = second.services.settings.storage.reserve_mb * standby_rounds.MB
    rounds: list[int] = []

    def left(free: int) -> None:
        rounds.clear()
        monkeypatch.setattr(standby_rounds, "free_bytes", lambda folder: (rounds.append(free), free)[1])

    left(reserve - 1)
    await until(lambda: not copies(second))
    left(reserve + standby_rounds.MB)
    await until(lambda: len(rounds) > 6)  # twice a round, of each of them
    assert copies(second) == []
    left(reserve + 1024 * standby_rounds.MB)
    await until(lambda: standby.state().copies == 1)


async def test_without_the_setting_nothing_is_kept(url: str, tmp_path: Path) -> None:
    flags = {"cluster.standby_above_mb": 0}
    async with open_servers(tmp_path, url, **flags) as opened:
        assert [each.cluster.held.standby for each in opened.opened] == [None, None]
