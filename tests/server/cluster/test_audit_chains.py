"""The audit of several servers is one: chains in PostgreSQL that any of them adds to, and that outlive each of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ops.audit import chain_rows, forwarding
from ops.audit.audit_log import AuditLog
from ops.audit.entries import AuditEntry
from ops.audit.forwarding import Forwarder
from ops.audit.links import INSTALLATION
from ops.audit.searching import AuditQuery, export, search
from ops.audit.verification import verify
from ops.settings import AuditSettings
from server.cluster.audit_chains import ClusterChains
from tests.cluster.cut_proxy import CutProxy, proxied
from tests.cluster.postgres_server import PostgresServer
from tests.ops.audit.chains import STORAGE, VAULT, entry
from tests.ops.audit.test_forwarding import Shelf
from tests.work import PATIENCE_S
from vaults.cluster.postgres.chain_tables import ChainTables
from vaults.cluster.postgres.connections import Connections, DatabaseLogin
from vaults.disk_reserve import DiskReserve
from vaults.errors import AuditUnavailable, ChangeNotAudited, StorageFull

Opening = Callable[[], AuditLog]


@pytest.fixture
async def server(connections: Connections, tmp_path: Path) -> AsyncIterator[Opening]:
    """Opens the audit of one more server. All have the keys of the installation; nothing else lies in their folder."""
    opened: list[tuple[AuditLog, ClusterChains]] = []

    def open_one() -> AuditLog:
        stores = ClusterChains(connections)
        opened.append((AuditLog(tmp_path, AuditSettings(), STORAGE, stores=stores), stores))
        return opened[-1][0]

    yield open_one
    for log, stores in opened:
        await log.close()
        stores.close()
    assert {each.name for each in tmp_path.iterdir()} <= {"keys"}


async def bodies(log: AuditLog, chain: str = VAULT) -> list[dict]:
    found = await log.chain(chain).read(lambda tx: tx.all("SELECT body FROM entries ORDER BY seq"))
    return [json.loads(body) for (body,) in found]


async def test_servers_that_add_to_one_chain_at_once_make_one_chain(server: Opening) -> None:
    one, two, three = server(), server(), server()
    for log in (one, two, three):
        await log.require_writable(VAULT)
    await asyncio.gather(*(log.append(VAULT, entry(n)) for n in range(30) for log in (one, two, three)))
    assert [each["seq"] for each in await bodies(one)] == list(range(1, 91))
    await asyncio.gather(*(log.sign() for log in (one, two, three)))
    assert {each.chain: each.ok for each in await verify(two)} == {VAULT: True, INSTALLATION: True}


async def test_the_next_holder_goes_on_where_a_server_died(server: Opening) -> None:
    dead, next_one = server(), server()
    for n in range(3):
        await dead.append(VAULT, entry(n))
    await next_one.require_writable(VAULT)
    await next_one.append(VAULT, entry(3))
    assert [each["targets"] for each in await bodies(next_one)] == [[f"id-{n}"] for n in range(4)]
    assert next_one.stores.unsigned() == [VAULT]
    await next_one.sign()
    assert next_one.stores.unsigned() == []
    (report,) = await verify(next_one, [VAULT])
    assert (report.ok, report.entries, report.signed) == (True, 4, 4)


async def test_what_a_dead_server_left_unsigned_is_signed_by_one_that_lives(server: Opening) -> None:
    dead, living = server(), server()
    await dead.append(VAULT, entry(1))
    await living._adopt()
    (report,) = await verify(living, [VAULT])
    assert (report.ok, report.signed) == (True, 1)


async def test_a_chain_that_somebody_wrote_anew_or_cut_off_is_found(server: Opening, connections: Connections) -> None:
    log = server()
    for n in range(4):
        await log.append(VAULT, entry(n))
    await log.sign()
    with connections.use() as connection:
        connection.execute("UPDATE strongroom.audit_entries SET body = replace(body, 'id-1', 'id-9') WHERE seq = 2")
        connection.execute("DELETE FROM strongroom.audit_checkpoints WHERE chain = 1")
        connection.execute("DELETE FROM strongroom.audit_entries WHERE seq = 4 AND chain = 1")
    faults = {each.chain: [fault.kind for fault in each.faults] for each in await verify(server())}
    assert faults == {VAULT: ["changed", "truncated"], INSTALLATION: []}


async def test_entries_are_searched_and_exported_by_any_server(server: Opening) -> None:
    one, two = server(), server()
    for n in range(20):
        await (one, two)[n % 2].append(
            VAULT, entry(n, subject=("ana", "ben")[n % 2], tool=("remember", "tasks")[n % 2])
        )
    for log in (one, two):
        assert len(await search(log, VAULT, AuditQuery(subject="ben"))) == 10
        assert len(await search(log, VAULT, AuditQuery(tool="remember", limit=3))) == 3
        assert [each.seq for each in await search(log, VAULT, AuditQuery(target="id-7"))] == [8]
    await one.append(VAULT, entry(20, subject="ben"))
    assert [each.seq for each in await search(two, VAULT, AuditQuery(subject="ben", limit=2))] == [21, 20]
    assert [each.seq async for each in export(two, VAULT, AuditQuery())] == list(range(1, 22))
    assert await search(two, "01990000-0000-7000-8000-00000000dead", AuditQuery()) == []


async def test_old_entries_are_deleted_and_what_is_left_holds(server: Opening) -> None:
    one, two = server(), server()
    one.settings = AuditSettings(keep="30d")
    for n in range(3):
        await one.append(VAULT, entry(n, at="2020-01-01T00:00:00.000Z"))
    await one.sign()
    await two.append(VAULT, entry(3))
    await two.sign()
    await search(two, VAULT, AuditQuery(subject="ana"))
    assert await one.prune() == 3
    await one.append(VAULT, entry(4))
    await one.sign()
    (report,) = await verify(two, [VAULT])
    assert (report.ok, report.first, report.last) == (True, 4, 5)
    assert [each.seq for each in await search(two, VAULT, AuditQuery(subject="ana"))] == [5, 4]


async def test_one_server_forwards_what_all_record_and_another_goes_on_after_it(
    server: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "LOOK_AGAIN_S", 0.01)
    one, two, shelf, spare = server(), server(), Shelf(), Shelf()
    for log in (one, two):
        await log.append(VAULT, entry(1))
    shelf.wanted, spare.wanted = 2, 1
    first, second = Forwarder(one, shelf, gather_s=0), Forwarder(two, spare, gather_s=0)
    first.start()
    await asyncio.wait_for(shelf.enough.wait(), PATIENCE_S)
    second.start()
    shelf.enough.clear()
    shelf.wanted = 3
    await two.append(VAULT, entry(3))  # by a server that does not forward
    await asyncio.wait_for(shelf.enough.wait(), PATIENCE_S)
    await first.close()
    await one.append(VAULT, entry(4))
    await asyncio.wait_for(spare.enough.wait(), PATIENCE_S)
    await second.close()
    assert shelf.taken + spare.taken == [(VAULT, n) for n in range(1, 5)]


@pytest.fixture
def far(postgres: PostgresServer, login: DatabaseLogin) -> Iterator[tuple[Connections, CutProxy]]:
    """The same database through a proxy."""
    with ExitStack() as stack:
        proxy = stack.enter_context(proxied(postgres.port))
        through = DatabaseLogin(postgres.conninfo(login.conninfo.rpartition("/")[2], proxy.port), 2, 2, 2.0)
        connections = Connections(through)
        connections.open()
        stack.callback(connections.close)
        stack.callback(proxy.flow)
        yield connections, proxy


async def test_an_entry_whose_answer_was_lost_stands_there_once(
    server: Opening, far: tuple[Connections, CutProxy], tmp_path: Path
) -> None:
    connections, proxy = far
    stores = ClusterChains(connections)
    log, other = AuditLog(tmp_path, AuditSettings(), STORAGE, stores=stores), server()
    await log.require_writable(VAULT)
    await log.append(VAULT, entry(1))
    proxy.lose_answers()
    with pytest.raises(ChangeNotAudited) as unrecorded:
        await log.append(VAULT, entry(2))
    assert "the cluster's database" in str(unrecorded.value.hint)
    assert log.failing == (VAULT,)
    with pytest.raises(AuditUnavailable):
        await log.require_writable(VAULT)
    proxy.flow()
    await other.append(VAULT, entry(3))
    await log.require_writable(VAULT)
    await log.append(VAULT, entry(4))
    assert log.failing == ()
    assert [each["targets"] for each in await bodies(other)] == [["id-1"], ["id-2"], ["id-3"], ["id-4"]]
    await log.close()
    stores.close()
    assert all(each.ok for each in await verify(other))


async def test_an_entry_that_never_arrived_is_written_when_postgresql_is_back(
    server: Opening, far: tuple[Connections, CutProxy], tmp_path: Path
) -> None:
    connections, proxy = far
    stores = ClusterChains(connections)
    log, other = AuditLog(tmp_path, AuditSettings(), STORAGE, stores=stores), server()
    await log.require_writable(VAULT)
    proxy.refuse()
    with pytest.raises(ChangeNotAudited):
        await log.append(VAULT, entry(1))
    proxy.flow()
    await other.append(VAULT, entry(2))
    await log.require_writable(VAULT)
    assert sorted(each["targets"][0] for each in await bodies(other)) == ["id-1", "id-2"]
    await log.close()
    stores.close()


async def test_a_full_database_takes_no_room_from_the_local_disk(
    server: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> bool:
        raise StorageFull("the cluster's database is full")

    monkeypatch.setattr(DiskReserve, "give_up", pytest.fail)
    log = server()
    await log.require_writable(VAULT)
    with monkeypatch.context() as full:
        full.setattr(ChainTables, "append", refuse)
        with pytest.raises(ChangeNotAudited):
            await log.append(VAULT, entry(1))
        with pytest.raises(AuditUnavailable):
            await log.require_writable(VAULT)
    await log.require_writable(VAULT)
    assert [each["targets"] for each in await bodies(log)] == [["id-1"]]


async def test_what_one_server_did_to_the_installation_is_recorded_beside_the_others(server: Opening) -> None:
    one, two = server(), server()

    async def act(log: AuditLog, number: int) -> None:
        async with log.acting(AuditEntry("act", "grant", "ok", details={"number": number})):
            pass

    await asyncio.gather(*(act(log, n) for n in range(10) for log in (one, two)))
    assert len(await bodies(one, INSTALLATION)) == 20
    await one.sign()
    assert await one.chain(INSTALLATION).read(chain_rows.count_unsigned) == 0
