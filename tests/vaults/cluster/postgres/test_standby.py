"""A synchronous standby: what it does not hold is not acknowledged, and what it holds is there when it is promoted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from tests.cluster.laid_out_databases import INSTALLATION
from tests.cluster.postgres_pair import PostgresPair, running_pair
from tests.work import PATIENCE_S
from vaults.cluster.failures import LogUnavailable
from vaults.cluster.postgres.connections import Connections, DatabaseLogin
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.postgres.placements import Placements
from vaults.cluster.postgres.schema import lay_out, open_database
from vaults.cluster.postgres.servers import Servers
from vaults.cluster.vault_log import Placement

_CANCEL = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


@pytest.fixture(scope="module")
def pair() -> Iterator[PostgresPair]:
    with running_pair() as running:
        yield running


@pytest.fixture
def connections(pair: PostgresPair) -> Iterator[Connections]:
    login = DatabaseLogin(pair.create_database("synchronous_commit = remote_apply"), 4, 2, PATIENCE_S)
    lay_out(login, INSTALLATION)
    opened = open_database(login, INSTALLATION)
    yield opened
    opened.close()


@pytest.fixture
def held(connections: Connections) -> Placement:
    Servers(connections, 3600.0).join("a", "a", "1")
    placements = Placements(connections)
    placements.register("main")
    placement = placements.take("main", "a")
    assert placement is not None
    return placement


def test_an_append_waits_for_the_standby(pair: PostgresPair, connections: Connections, held: Placement) -> None:
    said: list[object] = []
    with pair.held_back():
        append = appending(connections, held, said)
        wait_until_it_waits_for_the_standby(connections)
        assert said == []
    append.join(PATIENCE_S)
    assert said == [1]


def test_an_append_whose_wait_for_the_standby_was_cancelled_is_not_acknowledged(
    pair: PostgresPair, connections: Connections, held: Placement
) -> None:
    said: list[object] = []
    with pair.held_back():
        append = appending(connections, held, said)
        wait_until_it_waits_for_the_standby(connections)
        with connections.single() as operator:
            operator.execute(_CANCEL)
        append.join(PATIENCE_S)
    assert [type(each) for each in said] == [LogUnavailable]
    with connections.use() as connection:  # and the one that was warned is not used again
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_the_standby_has_every_append_when_it_is_promoted(
    pair: PostgresPair, connections: Connections, held: Placement
) -> None:
    log = PostgresVaultLog(connections)
    for number in range(20):
        held = log.append(held, str(number).encode())
    pair.kill()
    pair.start()
    assert [int(each.payload) for each in eventually(lambda: list(log.entries("main", 0)))] == list(range(20))
    assert log.append(held, b"20").head == 21


def appending(connections: Connections, held: Placement, said: list[object]) -> threading.Thread:
    """An append on its way; what came of it is ``said``: the head, or the failure."""

    def append() -> None:
        try:
            said.append(PostgresVaultLog(connections).append(held, b"one").head)
        except LogUnavailable as failure:
            said.append(failure)

    thread = threading.Thread(target=append)
    thread.start()
    return thread


def wait_until_it_waits_for_the_standby(connections: Connections) -> None:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    with connections.single() as connection:
        while connection.execute(waiting).fetchone() == (0,):
            pass


def eventually(read: Callable[[], list[object]]) -> list[object]:
    """Connections of the primary that was are found dead one by one."""
    for _ in range(10):
        try:
            return read()
        except LogUnavailable:
            continue
    raise AssertionError("never")
