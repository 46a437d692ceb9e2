"""Statements sent by name: any text, bounded waits, typed failures, on whatever connection."""

from __future__ import annotations

import psycopg
import pytest

from vaults.cluster.failures import LogUnavailable
from vaults.cluster.postgres.connections import Connections
from vaults.cluster.postgres.prepared_statements import PreparedStatement, to_bigint

ADD = PreparedStatement(
    b"add_kept", b"INSERT INTO public.kept (number, text, data) SELECT $1::bigint, $2::text, $3::bytea WHERE $1 < 2^62"
)


@pytest.fixture
def kept(connections: Connections) -> Connections:
    with connections.use() as connection:
        connection.execute("CREATE TABLE public.kept (number bigint PRIMARY KEY, text text, data bytea)")
    return connections


def add(connections: Connections, number: int, text: str = "", data: bytes = b"") -> int:
    with connections.use_kept() as connection:
        return ADD.run(connection, [to_bigint(number), text.encode(), data])


def test_numbers_texts_and_bytes_arrive_as_they_were(kept: Connections) -> None:
    rows = [(-(2**63), "Grüße, \u4f60\u597d \\ ' \" \U0001f600", bytes(range(256))), (7, "", b"\0")]
    for row in rows:
        assert add(kept, *row) == 1
    with kept.use() as connection:
        assert connection.execute("SELECT number, text, data FROM public.kept ORDER BY number").fetchall() == rows


def test_it_says_that_nothing_was_changed(kept: Connections) -> None:
    assert add(kept, 2**62) == 0


def test_a_row_that_is_there_leaves_the_connection_as_it_was(kept: Connections) -> None:
    add(kept, 1)
    with kept.use_kept() as connection:
        with pytest.raises(psycopg.errors.UniqueViolation):
            ADD.run(connection, [to_bigint(1), b"", b""])
        assert ADD.run(connection, [to_bigint(2), b"", b""]) == 1


def test_a_text_that_cannot_be_stored_is_refused_whole(kept: Connections) -> None:
    with pytest.raises(psycopg.DataError):
        add(kept, 1, "cut\0off")


def test_a_table_that_is_missing_is_told_in_our_words(connections: Connections) -> None:
    with pytest.raises(LogUnavailable, match="laid it out"), connections.use_kept() as connection:
        ADD.run(connection, [to_bigint(1), b"", b""])


def test_what_the_driver_deallocated_is_prepared_again(kept: Connections) -> None:
    """It does so after each rollback on a connection on which it has prepared something itself."""
    with kept.use_kept() as connection:
        for number in range(10):
            connection.execute("SELECT %s::int", (number,))
        assert ADD.run(connection, [to_bigint(1), b"", b""]) == 1
        with pytest.raises(ZeroDivisionError), connection.transaction():
            raise ZeroDivisionError
        assert ADD.run(connection, [to_bigint(2), b"", b""]) == 1
        assert ADD.run(connection, [to_bigint(3), b"", b""]) == 1


def test_one_that_the_connection_knows_and_we_do_not_is_run(kept: Connections) -> None:
    add(kept, 1)
    with kept.use_kept() as connection:
        connection.prepared.clear()
        assert ADD.run(connection, [to_bigint(2), b"", b""]) == 1
