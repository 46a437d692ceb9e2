"""No wait without an end, no connection that ended used again, no failure in the driver's words.

Covers vaults.cluster.postgres.driver_errors.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.cluster.cut_proxy import CutProxy
from tests.cluster.laid_out_databases import INSTALLATION
from tests.cluster.postgres_server import PostgresServer
from vaults.cluster.failures import LogUnavailable
from vaults.cluster.postgres.connections import Connection, Connections, DatabaseLogin
from vaults.cluster.postgres.driver_errors import to_typed_error
from vaults.cluster.postgres.schema import open_database
from vaults.errors import ReadOnly, StorageFull

ANSWER_S = 0.3


@pytest.fixture
def impatient(postgres: PostgresServer, login: DatabaseLogin, proxy: CutProxy) -> Iterator[Connections]:
    """Through a proxy, and waiting for no answer long."""
    database = login.conninfo.rpartition("/")[2]
    through = DatabaseLogin(postgres.conninfo(database, proxy.port), 3, 2, ANSWER_S)
    opened = open_database(through, INSTALLATION)
    yield opened
    proxy.flow()
    opened.close()


def ask(connections: Connections) -> int:
    with connections.use() as connection:
        row = connection.execute("SELECT 42").fetchone()
    assert row is not None
    return int(row[0])


def test_a_statement_that_takes_too_long_is_ended_by_postgresql(impatient: Connections) -> None:
    with pytest.raises(LogUnavailable), impatient.use() as connection:
        connection.execute("SELECT pg_sleep(3600)")
    assert ask(impatient) == 42


def test_a_wait_ends_where_both_sides_say_nothing(impatient: Connections, proxy: CutProxy) -> None:
    assert ask(impatient) == 42
    proxy.stall()
    with pytest.raises(LogUnavailable):
        ask(impatient)
    proxy.flow()
    assert ask(impatient) == 42


def test_connections_that_ended_meanwhile_are_replaced_unnoticed(impatient: Connections, proxy: CutProxy) -> None:
    for _ in range(3):
        assert ask(impatient) == 42
        proxy.cut()


def test_a_slow_network_is_waited_for(impatient: Connections, proxy: CutProxy) -> None:
    ask(impatient)
    proxy.delay(0.2)
    assert ask(impatient) == 42


def test_where_nobody_answers_the_pool_gives_up_and_recovers(impatient: Connections, proxy: CutProxy) -> None:
    proxy.refuse()
    with pytest.raises(LogUnavailable):
        ask(impatient)
    proxy.flow()
    assert ask(impatient) == 42


def test_postgresql_asks_after_an_end_that_says_nothing(connections: Connections) -> None:
    """Else it keeps the connections of a machine that is gone for two hours, and has none left for others."""
    with connections.use() as connection:
        rows = connection.execute(
            "SELECT setting::int FROM pg_settings WHERE name LIKE 'tcp%' ORDER BY name"
        ).fetchall()
    assert rows == [(3,), (5,), (2,), (5000,)]  # how many questions, after how many seconds, how often; milliseconds


def test_a_restart_of_postgresql_is_survived(postgres: PostgresServer, connections: Connections) -> None:
    assert ask(connections) == 42
    for end in (postgres.stop, postgres.kill):
        end()
        postgres.start()
        assert ask(connections) == 42


def write_where_nothing_may_be_written(connections: Connections) -> None:
    with connections.single() as connection:
        connection.execute("SET default_transaction_read_only = on")
        connection.execute("DELETE FROM strongroom.servers")


def test_a_database_that_turned_read_only_is_named(connections: Connections) -> None:
    with pytest.raises(ReadOnly, match="read-only"):
        write_where_nothing_may_be_written(connections)


def test_what_is_acknowledged_is_durable_whatever_the_database_prefers(postgres: PostgresServer) -> None:
    for said, kept in (("off", "on"), ("remote_apply", "remote_apply")):
        login = DatabaseLogin(postgres.create_database(f"synchronous_commit TO {said}"))
        with Connections(login).single() as connection:
            assert connection.execute("SHOW synchronous_commit").fetchone() == (kept,)


@pytest.mark.parametrize(
    ("failure", "typed"),
    [
        (psycopg.errors.DiskFull("secret"), StorageFull),
        (psycopg.errors.AdminShutdown("secret"), LogUnavailable),
        (psycopg.errors.UndefinedTable("secret"), LogUnavailable),
        (psycopg.errors.InsufficientPrivilege("secret"), LogUnavailable),
        (psycopg.InterfaceError("secret"), LogUnavailable),
        (psycopg.DatabaseError("secret"), LogUnavailable),
        (psycopg.errors.IdleInTransactionSessionTimeout("secret"), LogUnavailable),
        (psycopg.errors.ReadOnlySqlTransaction("secret"), ReadOnly),
    ],
)
def test_a_failure_of_the_driver_is_told_in_our_words(failure: psycopg.Error, typed: type[Exception]) -> None:
    told = to_typed_error(failure)
    assert type(told) is typed
    assert "secret" not in str(told)


def test_a_bug_of_ours_is_not_hidden(connections: Connections) -> None:
    assert to_typed_error(psycopg.errors.UniqueViolation("two entries at one place")) is None
    with pytest.raises(psycopg.errors.SyntaxError), connections.use() as connection:
        connection.execute("SELEKT")
    assert ask(connections) == 42


def process_of(connection: Connection) -> int:
    return connection.info.backend_pid


def test_who_comes_after_the_other_finds_the_kept_connection(connections: Connections) -> None:
    with connections.use_kept() as first:
        kept = process_of(first)
    with connections.use_kept() as second, connections.use() as of_the_pool:
        assert process_of(second) == kept != process_of(of_the_pool)


def test_while_somebody_has_the_kept_connection_others_take_one_of_the_pool(connections: Connections) -> None:
    with connections.use_kept() as kept, connections.use_kept() as other:
        assert process_of(kept) != process_of(other)
        other.execute("SELECT 42")


def test_a_kept_connection_that_ended_is_replaced_unnoticed(impatient: Connections, proxy: CutProxy) -> None:
    for _ in range(3):
        with impatient.use_kept() as connection:
            connection.execute("SELECT 42")
        proxy.cut()


def test_a_kept_connection_that_failed_is_not_used_again(impatient: Connections, proxy: CutProxy) -> None:
    with impatient.use_kept() as connection:
        before = process_of(connection)
    proxy.stall()
    with pytest.raises(LogUnavailable), impatient.use_kept() as connection:
        connection.execute("SELECT 42")
    proxy.flow()
    with impatient.use_kept() as connection:
        assert process_of(connection) != before


def test_no_kept_connection_is_left_open(login: DatabaseLogin) -> None:
    connections = Connections(login)
    connections.open()
    with connections.use_kept() as kept:
        pass
    connections.close()
    assert kept.closed
