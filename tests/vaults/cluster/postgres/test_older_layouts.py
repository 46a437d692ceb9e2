"""Tables of an older release are brought up to this one's, whole or not at all, while servers go on."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.cluster.laid_out_databases import INSTALLATION, first_layout_database
from tests.cluster.postgres_server import PASSWORD, PostgresServer
from tests.vaults.cluster.postgres.conftest import wait_until_blocked
from tests.work import PATIENCE_S
from vaults.cluster.failures import LogUnavailable
from vaults.cluster.postgres import older_layouts
from vaults.cluster.postgres.connections import Connections, DatabaseLogin
from vaults.cluster.postgres.layout_steps import LAYOUT, SCHEMAS, STEPS
from vaults.cluster.postgres.older_layouts import bring_up
from vaults.cluster.postgres.schema import open_database, read_layout, single_connection
from vaults.cluster.postgres.table_shape import expected_shape, shape
from vaults.errors import InvalidArgument


@pytest.fixture
def first(postgres: PostgresServer) -> DatabaseLogin:
    """Of tables as the first release made them."""
    return DatabaseLogin(first_layout_database(postgres))


@pytest.fixture
def pg_dump(first: DatabaseLogin) -> Iterator[psycopg.Connection]:
    """A transaction that has read a table that steps add to, and goes on."""
    with psycopg.connect(first.conninfo) as connection:
        connection.execute("SELECT FROM strongroom.placement")
        yield connection


def brought_up(login: DatabaseLogin) -> int | None:
    with single_connection(login) as connection:
        return bring_up(connection)


def layout_of(login: DatabaseLogin) -> int:
    with single_connection(login) as connection:
        return read_layout(connection)


def test_old_tables_become_what_new_ones_are_and_keep_their_rows(first: DatabaseLogin) -> None:
    with single_connection(first) as connection:
        connection.execute("INSERT INTO strongroom.placement VALUES ('main', NULL, 3, 5)")
        assert bring_up(connection) == 1
        for each in SCHEMAS:
            assert shape(connection, each) == expected_shape(each)
        assert connection.execute("SELECT vault, epoch, head FROM strongroom.placement").fetchall() == [("main", 3, 5)]
        assert bring_up(connection) is None
    open_database(first, INSTALLATION).close()


def test_where_nothing_is_or_all_is_there_nothing_is_done(postgres: PostgresServer, login: DatabaseLogin) -> None:
    assert brought_up(DatabaseLogin(postgres.create_database())) is None
    assert brought_up(login) is None


def test_tables_that_were_changed_are_named_and_left_as_they_are(first: DatabaseLogin) -> None:
    with single_connection(first) as connection:
        connection.execute("ALTER TABLE strongroom.vault_log ADD COLUMN note text")
        before = shape(connection)
        with pytest.raises(InvalidArgument, match=r"vault_log\.note"):
            bring_up(connection)
        assert shape(connection) == before
    assert layout_of(first) == 1


def test_of_several_at_once_one_does_it(first: DatabaseLogin) -> None:
    with ThreadPoolExecutor(4) as threads:
        done = list(threads.map(brought_up, [first] * 4))
    assert sorted(done, key=str) == [1, None, None, None]
    assert layout_of(first) == LAYOUT


def test_servers_go_on_while_a_backup_keeps_the_tables_from_being_changed(
    first: DatabaseLogin, pg_dump: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(older_layouts, "PAUSE_S", 0.0)
    connections = Connections(first)
    connections.open()
    with ThreadPoolExecutor(1) as threads:
        bringing = threads.submit(brought_up, first)
        wait_until_blocked(connections)
        for _ in range(2):
            beat(connections)
        assert not bringing.done()
        pg_dump.rollback()
        assert bringing.result(PATIENCE_S) == 1
    connections.close()


def beat(connections: Connections) -> None:
    """As a server of any release does: an update of a table that a step adds to, which has an end to its wait."""
    with connections.use() as connection:
        connection.execute("UPDATE strongroom.servers SET beat = beat + 1")


def test_tables_that_are_in_use_all_the_time_are_left_as_they_are(
    first: DatabaseLogin, pg_dump: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(older_layouts, "PAUSE_S", 0.0)
    monkeypatch.setattr(older_layouts, "TRIES", 1)
    with pytest.raises(LogUnavailable, match="nothing was changed"):
        brought_up(first)
    assert layout_of(first) == 1


def test_who_does_not_own_the_tables_is_told_so(first: DatabaseLogin) -> None:
    with single_connection(first) as connection:
        connection.execute(f"CREATE ROLE tenant LOGIN PASSWORD '{PASSWORD}'".encode())
        for each in SCHEMAS:
            connection.execute(f"GRANT USAGE ON SCHEMA {each} TO tenant".encode())
            connection.execute(f"GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA {each} TO tenant".encode())
        with pytest.raises(InvalidArgument, match="names a role that may not change the tables"):
            brought_up(DatabaseLogin(first.conninfo.replace("owner", "tenant")))
        connection.execute("DROP OWNED BY tenant")
        connection.execute("DROP ROLE tenant")


def test_steps_only_add() -> None:
    """What a running server of the release before has stands: it reads and writes as it did."""
    for step in STEPS:
        said = step.sql.upper()
        for word in ("DROP ", "RENAME ", "ALTER COLUMN", "DELETE ", "TRUNCATE ", "CREATE TRIGGER", "CREATE RULE"):
            assert word not in said, step.name
