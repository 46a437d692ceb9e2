"""One process as a server: it joins, sees the others, is removed and comes back, and leaves.

Covers vaults.cluster.membership.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from tests.vaults.cluster.postgres.conftest import lose
from tests.work import PATIENCE_S
from vaults.cluster.cluster_observer import NullClusterObserver
from vaults.cluster.failures import Fenced, LogUnavailable
from vaults.cluster.membership import Membership, ServerCard
from vaults.cluster.postgres.connections import Connections
from vaults.cluster.postgres.placements import Placements

LEASE_S = 1.0


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():  # noqa: ASYNC110  a thread makes it so
            await asyncio.sleep(0.01)


@pytest.fixture
async def member(connections: Connections) -> AsyncIterator[Membership]:
    card = ServerCard("a", "1", address="a:1", certificate="PEM")
    member = Membership(connections, card, LEASE_S, NullClusterObserver())
    await member.join()
    yield member
    await member.leave()


async def test_who_joined_is_seen_with_all_it_says(member: Membership) -> None:
    (own,) = member.servers
    assert (own.id, own.name, own.address, own.certificate, own.state) == (member.id, "a", "a:1", "PEM", "serving")
    member.require_seat().lease.require_held()


async def test_who_drains_is_seen_so_with_the_next_beat(member: Membership) -> None:
    member.drain()
    assert member.state == "draining"
    await until(lambda: member.servers[0].state == "draining")


async def test_what_another_process_says_of_it_stands(member: Membership, connections: Connections) -> None:
    with connections.use() as connection:
        connection.execute("UPDATE strongroom.servers SET state = 'draining'")
    await until(lambda: member.state == "draining")
    assert member.candidates == []


async def test_who_was_removed_comes_back_under_another_id_with_another_lease(
    member: Membership, connections: Connections
) -> None:
    before, removed = member.require_seat(), []
    member.on_removed.append(lambda: removed.append(member.seat))
    lose(connections, before.id)
    await until(lambda: member.id not in ("", before.id))
    assert removed == [None]
    with pytest.raises(Fenced):
        before.lease.require_held()
    member.require_seat().lease.require_held()
    assert [server.id for server in member.servers] == [member.id]


async def test_who_left_is_no_server_and_holds_nothing(member: Membership, connections: Connections) -> None:
    placements = Placements(connections)
    placements.register("main")
    assert placements.take("main", member.id) is not None
    await member.leave()
    with pytest.raises(LogUnavailable):
        member.require_seat()
    assert placements.holder("main").server is None
