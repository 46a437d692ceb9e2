"""Two servers of one installation: a vault is with one of them, and nothing that was answered is lost on its way.

Covers server.cluster.parts, server.cluster.release, vaults.cluster.base_rounds, vaults.cluster.hand_overs,
vaults.cluster.held_vaults, vaults.cluster.local_copies, vaults.cluster.measured_log,
vaults.cluster.open_vaults, vaults.cluster.vault_locations, vaults.cluster.vault_requests, vaults.cluster.vault_turns,
vaults.pool_departures.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from server.background_plan import COMMAND_WORK
from server.cluster import parts
from server.cluster.release import known_schema
from tests.cluster.open_servers import OpenServer, OpenServers, contents, open_servers, until
from tests.vaults.cluster.postgres.conftest import lose
from tests.work import PATIENCE_S
from vaults import registry
from vaults.cluster import base_rounds, hand_overs, local_copies
from vaults.cluster.failures import Fenced
from vaults.db.connection import Database
from vaults.db.sql import Writer
from vaults.errors import InvalidArgument
from vaults.settings import StorageSettings
from vaults.vault_hosting import VaultElsewhere


async def remember(server: OpenServer, *texts: str, vault: str = "main") -> None:
    for text in texts:
        assert (await server.asking(vault)("remember", content=text)).ok


async def test_a_vault_is_with_one_server_and_handed_over_whole(servers: OpenServers) -> None:
    a, b = servers.opened
    await remember(a, "tea is at four")
    with pytest.raises(VaultElsewhere) as refused:
        async with b.services.pool.lease(b.entry()):
            pass
    assert refused.value.address == a.cluster.door.address
    assert await a.cluster.held.hand_over(a.entry().vault_id, 5.0)
    assert await contents(b) == {"tea is at four"}
    await remember(b, "cake is at five")
    assert await b.cluster.held.hand_over(b.entry().vault_id, 5.0)
    assert await contents(a) == {"tea is at four", "cake is at five"}


async def test_the_vault_of_a_server_that_died_is_taken_over_with_all_that_was_answered(servers: OpenServers) -> None:
    a, b = servers.opened
    await remember(a, "tea is at four")
    gone = a.id
    a.die()
    await until(lambda: b.cluster.membership.find(gone) is None)
    assert await b.cluster.held.locate(b.entry()) is None
    assert await contents(b) == {"tea is at four"}
    refused = await a.asking()("memory_list")
    assert not refused.ok
    assert refused.content["error"]["retryable"]


async def test_who_waits_hears_at_once_that_another_server_is_gone(servers: OpenServers) -> None:
    a, b = servers.opened
    waiting = asyncio.create_task(b.cluster.held.wait_for_others(2 * PATIENCE_S))
    await b.cluster.held.wait_for_others(0.0)
    assert not waiting.done()
    a.die()
    async with asyncio.timeout(PATIENCE_S):
        await waiting
    assert b.cluster.membership.find(a.id) is None


async def test_a_server_that_was_taken_for_dead_comes_back_as_another_one_without_its_vaults(
    servers: OpenServers,
) -> None:
    a, b = servers.opened
    await remember(a, "tea is at four")
    before, folder = a.id, a.cluster.held.folder_of(a.entry())
    lose(a.cluster.connections, before)
    await until(lambda: a.cluster.membership.id not in ("", before))
    await until(lambda: not (folder / "vault.db").exists())
    assert await contents(b) == {"tea is at four"}
    assert await b.cluster.held.hand_over(b.entry().vault_id, 5.0)
    assert await contents(a) == {"tea is at four"}


async def test_nothing_stays_of_a_closed_vault_whose_server_was_taken_for_dead(servers: OpenServers) -> None:
    a, _ = servers.opened
    await remember(a, "tea is at four")
    await a.services.pool.close_vault("main")
    database = a.cluster.held.folder_of(a.entry()) / "vault.db"
    assert database.exists()
    lose(a.cluster.connections, a.id)
    await until(lambda: not database.exists())


async def test_a_write_of_a_holder_whose_vault_was_taken_is_refused_and_its_copy_is_dropped(
    servers: OpenServers,
) -> None:
    a, b = servers.opened
    await remember(a, "tea is at four")
    vault = a.entry().vault_id
    with a.cluster.connections.use() as connection:  # as if it had been taken for dead a moment ago
        connection.execute("UPDATE strongroom.placement SET server = %s, epoch = epoch + 1", (b.id,))
    refused = await a.asking()("remember", content="never stored")
    assert not refused.ok
    await until(lambda: not a.cluster.held.is_here(vault) and vault not in a.cluster.held.ids())
    assert await contents(b) == {"tea is at four"}
    located = await a.cluster.held.locate(a.entry())
    assert located is not None
    assert located.id == b.id


async def test_a_vault_closed_for_idleness_is_opened_again_without_being_restored(
    servers: OpenServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, _ = servers.opened
    await remember(a, "tea is at four")
    await a.services.pool.close_vault("main")
    restored: list[object] = []
    monkeypatch.setattr(local_copies, "lay_out", restored.append)
    assert await contents(a) == {"tea is at four"}
    await remember(a, "cake is at five")
    assert not restored


async def test_files_that_changed_while_a_vault_was_closed_are_restored(servers: OpenServers) -> None:
    a, _ = servers.opened
    await remember(a, "tea is at four")
    await a.services.pool.close_vault("main")
    other = Database(a.cluster.held.folder_of(a.entry()) / "vault.db", StorageSettings())
    await other.write(lambda tx: tx.run("INSERT INTO vault_info VALUES ('by', 'somebody else')"))
    await other.close()
    refused = await a.asking()("memory_list")
    assert refused.content["error"]["retryable"]
    assert await contents(a) == {"tea is at four"}
    async with a.services.pool.lease(a.entry()) as vault:
        assert not await vault.db.read(lambda tx: tx.one("SELECT 1 FROM vault_info WHERE key = 'by'"))


async def test_calls_in_flight_end_before_a_vault_is_handed_over(servers: OpenServers) -> None:
    a, b = servers.opened
    vault = a.entry().vault_id
    async with a.services.pool.lease(a.entry()) as held:
        leaving = asyncio.create_task(a.cluster.held.hand_over(vault, PATIENCE_S))
        await until(lambda: a.cluster.held.is_leaving(vault))
        await asyncio.sleep(0)

        def write(tx: Writer) -> None:
            tx.run("INSERT INTO vault_info VALUES ('written', 'late')")

        await held.db.write(write)
        assert not leaving.done()
    assert await leaving
    async with b.services.pool.lease(b.entry()) as taken:
        found = await taken.db.read(lambda tx: tx.value("SELECT value FROM vault_info WHERE key = 'written'"))
    assert found == "late"


async def test_a_call_that_comes_during_a_hand_over_is_sent_on(servers: OpenServers) -> None:
    a, b = servers.opened
    vault = a.entry().vault_id
    async with a.services.pool.lease(a.entry()):
        leaving = asyncio.create_task(a.cluster.held.hand_over(vault, PATIENCE_S, b.id))
        await until(lambda: vault not in a.services.pool.slots)
        coming = asyncio.create_task(a.asking()("memory_list"))
        locating = asyncio.create_task(a.cluster.held.locate(a.entry()))
        await asyncio.sleep(0)
    assert await leaving
    refused = await coming
    assert refused.content["error"]["code"] == "vault_unavailable"
    located = await locating
    assert located is not None
    assert located.id == b.id


async def test_a_server_asks_another_for_a_vault_and_gets_it(servers: OpenServers) -> None:
    a, b = servers.opened
    await remember(a, "tea is at four")
    await b.cluster.held.ask_for(b.entry())
    with pytest.raises(VaultElsewhere):
        async with a.services.pool.lease(a.entry()):
            pass
    assert await contents(b) == {"tea is at four"}


async def test_a_server_that_drains_has_its_vaults_served_elsewhere(servers: OpenServers) -> None:
    a, b = servers.opened
    await remember(a, "tea is at four")
    await a.cluster.drain(PATIENCE_S)
    assert a.cluster.held.ids() == []
    located = await a.cluster.held.locate(a.entry())
    assert located is not None
    assert located.id == b.id
    with pytest.raises(VaultElsewhere):
        async with a.services.pool.lease(a.entry()):
            pass
    assert await contents(b) == {"tea is at four"}


async def test_a_server_told_to_drain_by_its_row_does(servers: OpenServers) -> None:
    a, b = servers.opened
    with b.cluster.connections.use() as connection:
        connection.execute("UPDATE strongroom.servers SET state = 'draining' WHERE id = %s", (a.id,))
    await until(lambda: a.cluster.held.ids() == [])
    assert a.cluster.membership.state == "draining"


async def test_who_is_alone_keeps_its_vaults_when_told_to_drain(servers: OpenServers) -> None:
    a, b = servers.opened
    gone = b.id
    await b.end()
    await until(lambda: a.cluster.membership.find(gone) is None)
    await a.cluster.drain(PATIENCE_S)
    assert await contents(a) == set()


async def test_servers_that_are_ended_in_order_leave_their_vaults_to_others_at_once(servers: OpenServers) -> None:
    a, b = servers.opened
    await remember(a, "tea is at four")
    folder = a.cluster.held.folder_of(a.entry())
    await a.end()
    assert not folder.exists()
    assert await contents(b) == {"tea is at four"}


async def test_a_command_gets_the_vault_of_a_server_and_gives_it_back(servers: OpenServers) -> None:
    a, b = servers.opened
    await remember(a, "tea is at four")
    command = await servers.start("a-command", background=COMMAND_WORK)
    await remember(command, "cake is at five")
    assert command.cluster.membership.state == "command"
    await command.end()
    located = await b.cluster.held.locate(b.entry())
    server = b if located is None else a
    assert await contents(server) == {"tea is at four", "cake is at five"}


async def test_a_vault_goes_to_the_server_it_belongs_to_once_nobody_uses_it(
    servers: OpenServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = servers.opened
    vault = a.entry().vault_id
    home, other = (a, b) if a.cluster.held.is_preferred(vault) else (b, a)
    await a.cluster.held.hand_over(vault, 5.0, home.id)
    await remember(home, "tea is at four")
    for server in servers.opened:
        await looked_around(server)
    await home.cluster.held.hand_over(vault, 5.0, other.id)
    await remember(other, "cake is at five")
    monkeypatch.setattr(hand_overs, "IDLE_S", 0.0)
    await until(lambda: vault not in other.cluster.held.ids() and not other.cluster.held.is_leaving(vault))
    assert await contents(home) == {"tea is at four", "cake is at five"}
    assert home.cluster.held.is_here(vault)


async def looked_around(server: OpenServer) -> None:
    """Returns once it looked around after each of two beats, and found its vaults where they belong."""
    beats: list[None] = []
    server.cluster.membership.on_beat.append(lambda: beats.append(None))
    await until(lambda: len(beats) > 2)


async def test_a_vault_in_which_a_command_left_work_is_taken_by_the_server_it_is_to_go_to(servers: OpenServers) -> None:
    a, b = servers.opened
    vault = a.entry().vault_id
    assert await a.cluster.held.hand_over(vault, 5.0)
    await a.services.control.write(lambda tx: registry.announce_work(tx, vault))
    for server in (a, b):
        await server.services.registry_cache.refresh()
        await server.services.pool.rounds.run_round()
    assert [server.cluster.held.is_here(vault) for server in (a, b)] == [
        server.cluster.held.is_preferred(vault) for server in (a, b)
    ]


async def test_a_purge_makes_a_new_base_soon_also_after_another_server_took_the_vault(servers: OpenServers) -> None:
    a, b = servers.opened
    await remember(a, "a secret to be erased")
    async with a.services.pool.lease(a.entry()) as vault:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(base_rounds, "AT_ONCE", 0)
            await vault.db.checkpoint()
            assert vault.db.log.is_rebase_due
            id_ = vault.entry.vault_id
    assert await a.cluster.held.hand_over(id_, 5.0)
    await contents(b)

    def purged() -> int:
        with b.cluster.connections.use() as connection:
            found = connection.execute("SELECT purged FROM strongroom.placement").fetchone()
        assert found is not None
        return int(found[0])

    await until(lambda: purged() == 0)


async def test_a_read_after_the_lease_is_refused_also_from_a_cache(servers: OpenServers) -> None:
    a, _ = servers.opened
    await remember(a, "tea is at four")
    assert (await a.asking()("recall", query="tea")).ok
    a.cluster.membership.require_seat().lease.lose()
    refused = await a.asking()("recall", query="tea")
    assert refused.content["error"]["code"] == Fenced.code


async def test_many_vaults_of_a_server_that_died_come_back(url: str, tmp_path: Path) -> None:
    names = tuple(f"v{number:03}" for number in range(20))
    async with open_servers(tmp_path, url, vaults=names) as servers:
        a, b = servers.opened
        await asyncio.gather(*(remember(a, f"canary of {name}", vault=name) for name in names))
        gone = a.id
        a.die()
        await until(lambda: b.cluster.membership.find(gone) is None)
        found = await asyncio.gather(*(contents(b, name) for name in names))
        assert found == [{f"canary of {name}"} for name in names]


def test_two_servers_of_one_data_folder_are_refused(tmp_path: Path) -> None:
    async def run() -> None:
        async with AsyncExitStack() as stack, AsyncExitStack() as other:
            await parts.own_folder(stack, tmp_path, shared=False)
            with pytest.raises(InvalidArgument):
                await parts.own_folder(other, tmp_path, shared=False)
            assert (await parts.own_folder(other, tmp_path, shared=True)).is_dir()

    asyncio.run(run())


async def test_a_vault_that_would_be_migrated_is_left_to_a_server_that_does_not_know_the_step(
    servers: OpenServers,
) -> None:
    a, b = servers.opened
    await remember(a, "tea is at four")
    vault, newer = a.entry().vault_id, known_schema() + 1
    assert await a.cluster.held.hand_over(vault, 5.0, b.id)
    await contents(b)
    with pytest.raises(VaultElsewhere) as refused:
        b.cluster.hand_overs.refuse_early_migration(vault, newer)
    assert refused.value.server in (a.id, b.id)
    b.cluster.hand_overs.refuse_early_migration(vault, known_schema())


async def test_a_vault_that_goes_to_and_fro_loses_nothing(servers: OpenServers) -> None:
    a, b = servers.opened
    vault, written = a.entry().vault_id, set()
    for number in range(10):
        here, there = (a, b) if number % 2 == 0 else (b, a)
        text = f"the {number}th time"
        await remember(here, text)
        written.add(text)
        assert await here.cluster.held.hand_over(vault, PATIENCE_S, there.id)
    assert await contents(a) == written
