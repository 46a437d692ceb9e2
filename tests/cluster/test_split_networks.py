"""Packets that are dropped without a word: between a server and PostgreSQL, the other servers, its callers, or all of
them. Nothing is lost, and no call waits for ever.

``make cluster``; as root, with namespaces. Covers tests.cluster.network_rooms.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import httpx2
import pytest
import pytest_socket

from tests.cluster.grown_sets import check_grown, summary
from tests.cluster.installation import Installation, ServerProcess, installed
from tests.cluster.network_rooms import NetworkRoom, network_rooms
from tests.cluster.postgres_pair import running_pair
from tests.cluster.postgres_server import running_postgres
from tests.cluster.tool_run import SPLITS, ToolRun
from tests.work import PROGRAM_PATIENCE_S

pytestmark = pytest.mark.cluster

FAULTS = int(os.environ.get("CLUSTER_FAULTS", "60"))
SEED = int(os.environ.get("CLUSTER_SEED", "1"))


@pytest.fixture
def rooms() -> Iterator[tuple[NetworkRoom, ...]]:
    with network_rooms(3) as made:
        pytest_socket.socket_allow_hosts(["127.0.0.1", *(each.address for each in made)], allow_unix_socket=True)
        yield made


async def test_split_networks_lose_nothing_and_show_nothing_old(
    rooms: tuple[NetworkRoom, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_postgres(rooms[0].bridge) as postgres:
        run = ToolRun(postgres, tmp_path, 6, max(6, FAULTS // 6), SEED, SPLITS, rooms)
        last = await run.go()
    violations = check_grown(run.operations, last)
    with capsys.disabled():
        print(f"\n{run.injected.total()} faults: {dict(run.injected.most_common())}")
        print(summary(run.operations, violations))
    assert violations == []
    assert any(each.outcome == "ok" and each.added is not None for each in run.operations)


async def test_no_call_waits_for_ever_for_what_is_silent(
    rooms: tuple[NetworkRoom, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is answered, by an error perhaps, and once the network is healed all is as before."""
    with running_postgres(rooms[0].bridge) as postgres:
        database, port = postgres.create_database(), postgres.port
        async with installed(tmp_path, ["main"], servers=3, database=database, rooms=rooms) as three:
            waits = [
                f"holder cut from PostgreSQL, asked itself: {await waited(three, rooms, from_database(port), 0)}",
                f"the same, asked through another: {await waited(three, rooms, from_database(port), 1)}",
                f"holder cut from servers: {await waited(three, rooms, lambda room: room.cut_from(rooms), 1)}",
                f"holder cut off: {await waited(three, rooms, NetworkRoom.cut_off, 1)}",
            ]
    with capsys.disabled():
        print("", *waits, sep="\n")


async def test_a_postgresql_that_fell_silent_is_left_for_the_one_in_its_place(
    rooms: tuple[NetworkRoom, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The host that is named first answers nothing any more, not even that it is gone."""
    with running_pair(host=rooms[0].bridge) as pair:
        database = pair.create_database()
        async with installed(tmp_path, ["main"], servers=3, database=database, rooms=rooms) as three:
            await served(three)
            for room in rooms:
                room.cut_from_database(pair.ports[0])
            pair.promote()
            began = time.monotonic()
            await served(three)
            waited_s = time.monotonic() - began
            began = time.monotonic()
            await three.servers[0].kill()
            await served(three, three.servers[1:])
    with capsys.disabled():
        print(f"\nserved by all {waited_s:.1f} s after the promotion; {time.monotonic() - began:.1f} s after a kill")


async def test_connections_of_a_machine_that_is_gone_do_not_stay(
    rooms: tuple[NetworkRoom, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """PostgreSQL hears nothing of its end, and would have none left for others one day."""
    with running_postgres(rooms[0].bridge) as postgres:
        async with installed(tmp_path, ["main"], servers=2, database=postgres.create_database(), rooms=rooms) as two:
            await served(two)
            gone = {"address": rooms[0].address}
            before = two.rows(_CONNECTIONS, **gone)
            rooms[0].cut_off()
            began = time.monotonic()
            await two.servers[0].kill()
            async with asyncio.timeout(PROGRAM_PATIENCE_S):
                while two.rows(_CONNECTIONS, **gone) != [(0,)]:  # noqa: ASYNC110  PostgreSQL is asked
                    await asyncio.sleep(0.1)
    with capsys.disabled():
        print(f"\n{before[0][0]} connections of a machine were gone {time.monotonic() - began:.1f} s after it")
    assert before != [(0,)]


_CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE client_addr = %(address)s::inet"


def from_database(port: int) -> Callable[[NetworkRoom], object]:
    return lambda room: room.cut_from_database(port)


async def waited(
    three: Installation, rooms: tuple[NetworkRoom, ...], cut: Callable[[NetworkRoom], object], place: int
) -> str:
    """How long two writes wait once the holder of the vault is cut off: through that one, or the next by ``place``."""
    await served(three)
    holder = next(number for number, each in enumerate(three.servers) if each.name == three.holders()["main"])
    asked = three.servers[(holder + place) % len(rooms)]
    await remembered(three, asked)
    cut(rooms[holder])
    said = []
    for _ in range(2):
        began = time.monotonic()
        answer = await remembered(three, asked)
        said.append(f"{time.monotonic() - began:.1f} s ({answer})")
    rooms[holder].heal()
    return ", then ".join(said)


async def remembered(three: Installation, server: ServerProcess) -> str:
    try:
        answer = await three.call(server, "main", "remember", {"content": f"What was said at {time.monotonic()}."})
    except (LookupError, httpx2.TransportError) as failure:
        return str(failure)[:60]
    return answer.code or "ok"


async def served(three: Installation, servers: Sequence[ServerProcess] = ()) -> None:
    """By each of them, or by all."""
    async with asyncio.timeout(PROGRAM_PATIENCE_S):
        for server in servers or three.servers:
            while await remembered(three, server) != "ok":  # noqa: ASYNC110  a server is asked
                await asyncio.sleep(0.1)
