"""Numbered rows of chains that several servers add to."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from vaults.cluster.postgres.chain_tables import ChainRow, ChainTables
from vaults.cluster.postgres.connections import Connections
from vaults.db.sql import Reader, Writer


@pytest.fixture
def tables(connections: Connections) -> ChainTables:
    return ChainTables(connections)


def rows(first: int, count: int = 1, body: str = "{}") -> list[ChainRow]:
    return [ChainRow(seq, 1000 + seq, body, bytes([seq])) for seq in range(first, first + count)]


def numbers(tx: Reader) -> list[int]:
    return [seq for (seq,) in tx.all("SELECT seq FROM entries ORDER BY seq")]


def test_a_chain_has_one_number_whoever_asks(tables: ChainTables) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(tables.register, ["a"] * 40))
    assert len(found) == 1
    assert tables.register("b") not in found
    assert tables.names() == ["a", "b"]


def test_entries_follow_the_head_or_are_not_added(tables: ChainTables) -> None:
    chain = tables.register("a")
    assert tables.append(chain, 0, b"", rows(1, 2))
    assert not tables.append(chain, 0, b"", rows(1))  # another server was first
    assert not tables.append(chain, 1, b"\1", rows(2))
    assert not tables.append(chain, 2, b"\7", rows(3))  # that is not what it ends with
    assert not tables.append(chain, 3, b"\3", rows(4))  # nor is there any such entry
    assert tables.append(chain, 2, b"\2", rows(3))
    assert tables.read(chain, numbers) == [1, 2, 3]


def test_of_many_who_add_after_the_same_head_one_does(tables: ChainTables) -> None:
    chain = tables.register("a")
    with ThreadPoolExecutor(6) as threads:
        added = list(threads.map(lambda n: tables.append(chain, 0, b"", rows(1, 1, f'"{n}"')), range(24)))
    assert sum(added) == 1


def test_a_chain_goes_on_where_its_first_entries_were_deleted_and_not_from_one_of_those(tables: ChainTables) -> None:
    chain = tables.register("a")
    tables.append(chain, 0, b"", rows(1, 3))

    def delete(tx: Writer) -> None:
        tx.run("INSERT INTO anchors VALUES (3, '{}', 'kid', :signature)", {"signature": b"s"})
        tx.run("DELETE FROM entries WHERE seq <= 3")

    tables.write(chain, delete)
    assert not tables.append(chain, 1, b"\1", rows(2))
    assert tables.append(chain, 3, b"\3", rows(4))


def test_statements_see_and_change_the_rows_of_their_chain_alone(tables: ChainTables) -> None:
    one, other = tables.register("a"), tables.register("b")
    for chain in (one, other):
        tables.append(chain, 0, b"", rows(1, 2))
        tables.write(chain, lambda tx: tx.run("INSERT INTO forwarded VALUES ('syslog', 7) ON CONFLICT DO NOTHING"))
    assert tables.write(one, lambda tx: tx.run("DELETE FROM entries WHERE seq = :seq", {"seq": 1})) == 1
    assert tables.write(one, lambda tx: tx.run("UPDATE indexed SET seq = 5")) == 1
    assert tables.read(one, numbers) == [2]
    assert tables.read(other, numbers) == [1, 2]
    assert tables.read(other, lambda tx: tx.value("SELECT seq FROM indexed")) == 0
    assert tables.read(other, lambda tx: tx.one("SELECT seq FROM forwarded WHERE receiver = 'syslog'")) == (7,)


def test_a_transaction_that_fails_leaves_nothing_and_its_connection_goes_on(tables: ChainTables) -> None:
    chain = tables.register("a")

    def fail(tx: Writer) -> None:
        tx.run("INSERT INTO forwarded VALUES ('syslog', 7)")
        raise KeyError

    with pytest.raises(KeyError):
        tables.write(chain, fail)
    with pytest.raises(KeyError):
        tables.read(chain, lambda _: {}["no"])
    assert tables.read(chain, lambda tx: tx.all("SELECT seq FROM forwarded")) == []


def test_a_transaction_that_met_another_one_runs_again(tables: ChainTables) -> None:
    chain, tried = tables.register("a"), []

    def add_after_the_head(tx: Writer) -> None:
        head = int(tx.value("SELECT COALESCE(MAX(seq), 0) FROM entries"))
        if not tried:
            tables.append(chain, 0, b"", rows(1))
        tried.append(head)
        tx.run("INSERT INTO entries VALUES (:seq, 1, '{}', :hash)", {"seq": head + 1, "hash": b"x"})

    tables.write(chain, add_after_the_head)
    assert tried == [0, 1]
    assert tables.read(chain, numbers) == [1, 2]


def test_a_percent_sign_and_many_rows_pass(tables: ChainTables) -> None:
    chain = tables.register("a")
    tables.write(
        chain,
        lambda tx: tx.many(
            "INSERT INTO entries VALUES (:seq, :at, :body, :hash)",
            [{"seq": n, "at": n, "body": f"{n}%dx", "hash": b""} for n in range(1, 4)],
        ),
    )
    assert tables.read(chain, lambda tx: tx.all("SELECT seq FROM entries WHERE body LIKE '2%x'")) == [(2,)]


def test_chains_that_nobody_signed_or_sent_to_their_end_are_found(tables: ChainTables) -> None:
    for name in ("done", "grown", "empty"):
        chain = tables.register(name)
        if name != "empty":
            tables.append(chain, 0, b"", rows(1, 2))
    for name, last in (("done", 2), ("grown", 1)):
        signed = {"seq": last, "signature": b"s"}
        tables.write(
            tables.register(name),
            lambda tx, signed=signed: (
                tx.run("INSERT INTO checkpoints VALUES (:seq, '{}', 'kid', :signature)", signed),
                tx.run("INSERT INTO forwarded VALUES ('syslog', :seq)", signed),
            ),
        )
    assert tables.unsigned() == ["grown"]
    assert tables.unsigned(1002) == []
    assert tables.unsigned(1003) == ["grown"]
    assert (tables.begun_before(1001), tables.begun_before(1002)) == ([], ["done", "grown"])
    assert tables.unsent("syslog") == ["grown"]
    assert tables.unsent("webhook") == ["done", "grown"]
