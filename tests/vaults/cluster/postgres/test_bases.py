"""A base is replaced whole or not at all, wherever its upload ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from tests.vaults.cluster.postgres.conftest import lose, stored, taken
from vaults.cluster.failures import Fenced, LogDamaged, LogUnavailable
from vaults.cluster.postgres.connections import BoundedConnection, Connections
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.postgres.placements import Placements
from vaults.cluster.vault_log import Placement
from vaults.errors import InvalidArgument

OLD, NEW = [b"old one", b"old two"], [b"new one", b"new two", b"new three"]


def read(log: PostgresVaultLog) -> tuple[int, list[bytes]] | None:
    found = log.base("main")
    return None if found is None else (found[0], list(found[1]))


def counted(connections: Connections, table: str) -> int:
    with connections.use() as connection:
        row = connection.execute(f"SELECT count(*) FROM strongroom.{table}".encode()).fetchone()
    assert row is not None
    return int(row[0])


@pytest.fixture
def based(log: PostgresVaultLog, held: Placement) -> Placement:
    """Four entries, and a base as of the second."""
    for number in range(4):
        held = log.append(held, b"%d" % number)
    log.replace_base(held, 2, OLD)
    return held


def test_a_base_takes_the_place_of_the_one_before_and_of_entries(
    log: PostgresVaultLog, based: Placement, connections: Connections
) -> None:
    assert read(log) == (2, OLD)
    assert [seq for seq, _, _ in stored(log, 2)] == [3, 4]
    log.replace_base(based, 4, NEW)
    assert read(log) == (4, NEW)
    assert counted(connections, "vault_log") == 0
    assert counted(connections, "vault_base_part") == len(NEW)
    assert log.append(based, b"five").head == 5


def test_a_vault_without_content_has_a_base_without_parts(log: PostgresVaultLog, held: Placement) -> None:
    log.replace_base(held, 0, [])
    assert read(log) == (0, [])


class Killed(BaseException):
    """The process ends here."""


def killing_at(step: int, execute: Callable[..., object], before: bool) -> Callable[..., object]:
    """``execute`` of connections that ends everything at one statement: before it is sent, or when it was made."""
    calls, replacing = 0, threading.current_thread()

    def counting(self: BoundedConnection, *arguments: object, **named: object) -> object:
        nonlocal calls
        if threading.current_thread() is not replacing:  # the pool opens a connection meanwhile
            return execute(self, *arguments, **named)
        calls += 1
        if calls == step and before:
            raise Killed
        result = execute(self, *arguments, **named)
        if calls == step:
            raise Killed
        return result

    return counting


STEPS = 10
"""Statements of a replacement: the base there is, the beginning, three parts, the hold, the showing, two removals,
and that nothing purged is left."""


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_a_replacement_that_ends_anywhere_leaves_one_whole_base_and_no_gap(
    log: PostgresVaultLog,
    based: Placement,
    connections: Connections,
    monkeypatch: pytest.MonkeyPatch,
    step: int,
    before: bool,
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(BoundedConnection, "execute", killing_at(step, BoundedConnection.execute, before))
        with pytest.raises(Killed):
            log.replace_base(based, 4, NEW)
    found = read(log)
    assert found in ((2, OLD), (4, NEW))
    assert found is not None
    assert [seq for seq, _, _ in stored(log, found[0])] == list(range(found[0] + 1, 5))
    log.replace_base(based, 4, NEW)
    assert read(log) == (4, NEW)
    assert counted(connections, "vault_base") == 1
    assert counted(connections, "vault_base_part") == len(NEW)
    assert counted(connections, "vault_log") == 0


def test_a_replacement_makes_as_many_statements_as_are_tried(
    log: PostgresVaultLog, based: Placement, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(BoundedConnection, "execute", killing_at(STEPS + 1, BoundedConnection.execute, True))
        log.replace_base(based, 4, NEW)
    assert read(log) == (4, NEW)


def taking_over(connections: Connections, placements: Placements, parts: list[bytes]) -> Iterator[bytes]:
    """Parts of an upload during which another server takes the vault over."""
    yield parts[0]
    lose(connections, "a")
    taken(placements, "b")
    yield from parts[1:]


def test_a_base_of_a_holder_that_was_fenced_meanwhile_is_never_shown(
    log: PostgresVaultLog, based: Placement, placements: Placements, connections: Connections
) -> None:
    with pytest.raises(Fenced):
        log.replace_base(based, 4, taking_over(connections, placements, NEW))
    assert read(log) == (2, OLD)
    assert [seq for seq, _, _ in stored(log, 2)] == [3, 4]
    with pytest.raises(Fenced):
        log.replace_base(based, 4, NEW)


def test_the_next_holders_base_ends_an_upload_that_goes_on(
    log: PostgresVaultLog, based: Placement, placements: Placements, connections: Connections
) -> None:
    def parts() -> Iterator[bytes]:
        yield NEW[0]
        lose(connections, "a")
        log.replace_base(taken(placements, "b"), 4, NEW)
        yield b"late"

    with pytest.raises(Fenced):
        log.replace_base(based, 4, parts())
    assert read(log) == (4, NEW)
    assert counted(connections, "vault_base_part") == len(NEW)


@pytest.mark.parametrize("seq", [1, 5])
def test_a_base_behind_the_one_there_or_ahead_of_the_log_is_refused(
    log: PostgresVaultLog, based: Placement, seq: int
) -> None:
    with pytest.raises(InvalidArgument):
        log.replace_base(based, seq, NEW)
    assert read(log) == (2, OLD)


def test_a_missing_part_is_named(log: PostgresVaultLog, based: Placement, connections: Connections) -> None:
    with connections.use() as connection:
        connection.execute("DELETE FROM strongroom.vault_base_part WHERE part = 1")
    with pytest.raises(LogDamaged) as damage:
        read(log)
    assert damage.value.details == {"vault": "main", "seq": 2}


def test_a_base_or_entries_that_were_replaced_while_they_are_read_are_asked_for_again(
    log: PostgresVaultLog, based: Placement
) -> None:
    found, entries = log.base("main"), log.entries("main", 2)
    assert found is not None
    log.replace_base(based, 4, NEW)
    with pytest.raises(LogUnavailable):
        list(found[1])
    based = log.append(based, b"five")
    with pytest.raises(LogUnavailable):
        list(entries)
