"""The log of a vault cannot fork, has no gap, and an append that was not answered is found by reading."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.cluster.cut_proxy import CutProxy
from tests.cluster.laid_out_databases import INSTALLATION
from tests.cluster.postgres_server import PostgresServer
from tests.vaults.cluster.postgres.conftest import lose, stored, taken, wait_until_blocked
from vaults.cluster.failures import Fenced, LogDamaged, LogUnavailable
from vaults.cluster.postgres import log as log_module
from vaults.cluster.postgres.connections import Connections, DatabaseLogin
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.postgres.placements import Placements
from vaults.cluster.postgres.schema import open_database
from vaults.cluster.vault_log import LogEntry, Placement


def test_entries_are_numbered_and_read_in_order(log: PostgresVaultLog, held: Placement) -> None:
    for payload in (b"one", b"", bytes(range(256))):
        held = log.append(held, payload)
    assert held == Placement("main", "a", 1, 3)
    assert list(log.entries("main", 0)) == [
        LogEntry(1, 1, b"one"),
        LogEntry(2, 1, b""),
        LogEntry(3, 1, bytes(range(256))),
    ]
    assert stored(log, 2) == [(3, 1, bytes(range(256)))]
    assert stored(log, 3) == []


@pytest.mark.parametrize(
    "wrong", [{"epoch": 2}, {"epoch": 0}, {"head": 0}, {"head": 2}, {"server": "b"}, {"vault": "x"}]
)
def test_whoever_is_not_holder_at_that_epoch_and_head_is_fenced(
    log: PostgresVaultLog, held: Placement, wrong: dict[str, object]
) -> None:
    held = log.append(held, b"one")
    with pytest.raises(Fenced):
        log.append(replace(held, **wrong), b"other")
    assert stored(log) == [(1, 1, b"one")]


def test_a_holder_whose_vault_was_taken_over_is_fenced(
    log: PostgresVaultLog, placements: Placements, held: Placement, connections: Connections
) -> None:
    held = log.append(held, b"old")
    lose(connections, "a")
    newer = log.append(taken(placements, "b"), b"new")
    with pytest.raises(Fenced):
        log.append(held, b"late")
    assert stored(log) == [(1, 1, b"old"), (2, 2, b"new")]
    assert newer == Placement("main", "b", 2, 2)


def test_a_removed_server_appends_until_its_vault_is_taken(
    log: PostgresVaultLog, placements: Placements, held: Placement, connections: Connections
) -> None:
    """Its lease plays no part: what it appends is whole before the next holder reads the log."""
    lose(connections, "a")
    held = log.append(held, b"last")
    assert taken(placements, "b").head == 1
    with pytest.raises(Fenced):
        log.append(held, b"late")


def test_an_append_that_waits_for_a_take_over_is_fenced_by_it(
    log: PostgresVaultLog, held: Placement, connections: Connections
) -> None:
    failures: list[Exception] = []

    def append() -> None:
        try:
            log.append(held, b"late")
        except Fenced as failure:
            failures.append(failure)

    thread = threading.Thread(target=append)
    with connections.use() as taking, taking.transaction():
        taking.execute("UPDATE strongroom.placement SET server = 'b', epoch = epoch + 1 WHERE vault = 'main'")
        thread.start()
        wait_until_blocked(connections)
    thread.join()
    assert [type(each) for each in failures] == [Fenced]
    assert stored(log) == []


def test_of_many_who_append_at_one_head_one_does(log: PostgresVaultLog, held: Placement) -> None:
    """Two writers of one server would be a bug; the log does not fork even then."""
    done: list[Placement] = []
    ready = threading.Barrier(8)

    def append(number: int) -> None:
        ready.wait()
        with contextlib.suppress(Fenced):
            done.append(log.append(held, b"%d" % number))

    threads = [threading.Thread(target=append, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 1
    assert len(stored(log)) == 1


@pytest.fixture
def far(postgres: PostgresServer, login: DatabaseLogin, proxy: CutProxy) -> Iterator[PostgresVaultLog]:
    """The same log through a proxy."""
    through = DatabaseLogin(postgres.conninfo(login.conninfo.rpartition("/")[2], proxy.port), 2, 2, 2.0)
    opened = open_database(through, INSTALLATION)
    yield PostgresVaultLog(opened)
    proxy.flow()
    opened.close()


def test_an_append_whose_answer_is_lost_is_unknown_and_found_by_reading(
    log: PostgresVaultLog, far: PostgresVaultLog, held: Placement, placements: Placements, proxy: CutProxy
) -> None:
    held = far.append(held, b"one")
    proxy.lose_answers()
    with pytest.raises(LogUnavailable):
        far.append(held, b"two")
    proxy.flow()
    newer = taken(placements, "a")  # fences what may still be under way; from here on the log says what became of it
    assert newer.head == 2
    assert stored(far) == [(1, 1, b"one"), (2, 1, b"two")]
    with pytest.raises(Fenced):
        far.append(held, b"two")


def test_an_append_that_never_arrived_is_unknown_and_not_there(
    log: PostgresVaultLog, far: PostgresVaultLog, held: Placement, placements: Placements, proxy: CutProxy
) -> None:
    held = far.append(held, b"one")
    proxy.stall()
    with pytest.raises(LogUnavailable):
        far.append(held, b"two")
    newer = taken(placements, "a")
    proxy.flow()
    assert newer.head == 1
    assert stored(log) == [(1, 1, b"one")]


def test_a_lost_entry_is_named_and_not_passed_over(
    log: PostgresVaultLog, held: Placement, connections: Connections
) -> None:
    for number in range(5):
        held = log.append(held, b"%d" % number)
    for gone, rest in ((3, [1, 2]), (5, [4]), (1, [])):
        with connections.use() as connection:
            connection.execute("DELETE FROM strongroom.vault_log WHERE seq = %s", (gone,))
        entries, seen = log.entries("main", 3 if gone == 5 else 0), []
        with pytest.raises(LogDamaged) as damage:
            seen.extend(entry.seq for entry in iterate_into(entries, seen))
        assert damage.value.details == {"vault": "main", "seq": gone}
        assert seen == rest


def iterate_into(entries: Iterator[LogEntry], seen: list[int]) -> Iterator[LogEntry]:
    for entry in entries:
        seen.append(entry.seq)
        if False:
            yield entry


def test_a_long_log_is_read_in_bounded_pieces(
    log: PostgresVaultLog, held: Placement, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "READ_AT_ONCE", 250)
    for number in range(12):
        held = log.append(held, b"%02d" % number * 50)
    sizes = []
    fetch = PostgresVaultLog._next_entries

    def counted(self: PostgresVaultLog, vault: str, after: int, head: int) -> list[LogEntry]:
        entries = fetch(self, vault, after, head)
        sizes.append(len(entries))
        return entries

    monkeypatch.setattr(PostgresVaultLog, "_next_entries", counted)
    assert [entry[0] for entry in stored(log)] == list(range(1, 13))
    assert sizes == [3, 3, 3, 3]


def test_an_entry_that_is_larger_than_a_piece_is_read(log: PostgresVaultLog, held: Placement) -> None:
    large = bytes(5 * 1024 * 1024)
    held = log.append(log.append(held, large), b"after")
    assert [(seq, len(payload)) for seq, _, payload in stored(log)] == [(1, len(large)), (2, 5)]
