"""Control's tables in PostgreSQL: one writer at a time on all servers, snapshots, and what each failure says.

Covers vaults.cluster.control.statement_runner.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.cluster.cut_proxy import CutProxy
from tests.cluster.laid_out_databases import INSTALLATION
from tests.cluster.postgres_server import PostgresServer
from tests.cluster.shared_control import same_control
from vaults.cluster.control.postgres_control import PostgresControl
from vaults.cluster.failures import LogUnavailable
from vaults.cluster.postgres.connections import Connections, DatabaseLogin
from vaults.cluster.postgres.schema import lay_out, open_database
from vaults.db.sql import Reader, Writer
from vaults.errors import InvalidArgument, ReadOnly, VaultUnavailable

SET = "INSERT INTO installation (key, value) VALUES (:key, :value)"
CHANGE = "UPDATE installation SET value = :value WHERE key = :key"


@pytest.fixture
async def control(connections: Connections) -> AsyncIterator[PostgresControl]:
    opened = PostgresControl(connections)
    yield opened
    await opened.close()


async def put(control: PostgresControl, key: str, value: str) -> int:
    return await control.write(lambda tx: tx.run(SET, {"key": key, "value": value}))


async def get(control: PostgresControl, key: str) -> str | None:
    found: str | None = await control.read(
        lambda tx: tx.value("SELECT value FROM installation WHERE key = :key", {"key": key})
    )
    return found


def raise_by_one(tx: Writer) -> None:
    """As code that was written for one writer does it."""
    number = int(tx.value("SELECT value FROM installation WHERE key = 'number'"))
    tx.run(CHANGE, {"key": "number", "value": str(number + 1)})


async def test_of_writers_in_eight_threads_on_two_servers_none_undoes_another(
    control: PostgresControl, connections: Connections
) -> None:
    await put(control, "number", "0")
    with same_control(control) as other:
        more = [PostgresControl(connections) for _ in range(6)]
        await asyncio.gather(*(server.write(raise_by_one) for server in (control, other, *more) for _ in range(10)))
        for each in (other, *more):
            await each.close()
    assert await get(control, "number") == "80"


async def test_a_write_that_raises_leaves_nothing_and_the_next_one_is_made(control: PostgresControl) -> None:
    def work(tx: Writer) -> None:
        tx.run(SET, {"key": "a", "value": "1"})
        raise InvalidArgument("field", "is wrong")

    with pytest.raises(InvalidArgument):
        await control.write(work)
    assert await get(control, "a") is None
    assert await put(control, "a", "2") == 1


async def test_a_read_sees_one_moment(control: PostgresControl) -> None:
    await put(control, "a", "1")
    began, goes_on = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def work(tx: Reader) -> tuple[str, str]:
        query = "SELECT value FROM installation WHERE key = 'a'"
        before = tx.value(query)
        loop.call_soon_threadsafe(began.set)
        asyncio.run_coroutine_threadsafe(goes_on.wait(), loop).result()
        return before, tx.value(query)

    reading = asyncio.create_task(control.read(work))
    await began.wait()
    await control.write(lambda tx: tx.run(CHANGE, {"key": "a", "value": "2"}))
    goes_on.set()
    assert await reading == ("1", "1")


async def test_what_is_read_cannot_write(control: PostgresControl) -> None:
    with pytest.raises(ReadOnly):
        await control.read(lambda tx: tx.one(SET, {"key": "a", "value": "1"}))


async def test_the_mark_moves_with_counted_writes_of_any_server_and_with_nothing_else(
    control: PostgresControl,
) -> None:
    with same_control(control) as other:
        before = await control.version()
        await other.write_uncounted(lambda tx: tx.run(SET, {"key": "a", "value": "1"}))
        await other.write(lambda tx: tx.run(CHANGE, {"key": "nothing", "value": "1"}))
        await other.write(lambda tx: tx.value("SELECT 1"))
        assert await control.version() == before
        await put(other, "b", "1")
        assert await control.version() != before
        await other.close()


async def test_a_caller_that_gives_up_leaves_the_write_whole(control: PostgresControl) -> None:
    began, goes_on = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def work(tx: Writer) -> None:
        tx.run(SET, {"key": "a", "value": "1"})
        loop.call_soon_threadsafe(began.set)
        asyncio.run_coroutine_threadsafe(goes_on.wait(), loop).result()

    writing = asyncio.create_task(control.write(work))
    await began.wait()
    writing.cancel()
    goes_on.set()
    await put(control, "b", "2")  # behind it
    assert await get(control, "a") == "1"


async def test_what_was_closed_refuses(control: PostgresControl) -> None:
    await control.close()
    with pytest.raises(VaultUnavailable):
        await control.version()


async def test_a_cut_connection_fails_once_and_a_new_one_is_made(postgres: PostgresServer, proxy: CutProxy) -> None:
    login = DatabaseLogin(postgres.create_database())
    lay_out(login, INSTALLATION)
    through = login.conninfo.replace(f":{postgres.port}/", f":{proxy.port}/")
    connections = open_database(DatabaseLogin(through, connect_s=2, answer_s=2.0), INSTALLATION)
    control = PostgresControl(connections)
    await put(control, "a", "1")
    proxy.refuse()
    with pytest.raises(LogUnavailable):
        await control.version()
    with pytest.raises(LogUnavailable):
        await put(control, "b", "1")
    proxy.flow()
    assert await get(control, "a") == "1"
    await put(control, "b", "1")
    await control.close()
    connections.close()


async def test_values_that_look_like_placeholders_stay_what_they_are(control: PostgresControl) -> None:
    for key in (":a", "?", "100 %", "%(key)s", "it's", 'a "b"', "\\", "$1"):
        await put(control, key, key)
        assert await get(control, key) == key


async def test_a_character_that_postgresql_keeps_nowhere_is_refused_by_name(control: PostgresControl) -> None:
    with pytest.raises(InvalidArgument, match="value"):
        await put(control, "a", "b\0")
