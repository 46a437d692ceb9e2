"""Of two PostgreSQLs that take writes, as after a promotion without fencing, the one that was promoted is used."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.postgres_pair import PostgresPair, running_pair
from tests.vaults.cluster.conftest import INSTALLATION
from tests.work import PATIENCE_S
from vaults.cluster.postgres.connections import Connections, DatabaseLogin
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.postgres.placements import Placements
from vaults.cluster.postgres.schema import lay_out, open_database
from vaults.cluster.postgres.servers import Servers
from vaults.cluster.postgres.timelines import NewestTimeline, Timeline, hosts_of


@pytest.fixture
def pair() -> Iterator[PostgresPair]:
    with running_pair() as running:
        yield running


def opened(database: str) -> Connections:
    return open_database(DatabaseLogin(database, 4, 2, PATIENCE_S), INSTALLATION)


def test_a_primary_that_comes_back_beside_the_one_in_its_place_is_told_nothing(pair: PostgresPair) -> None:
    database = pair.create_database()
    lay_out(DatabaseLogin(database), INSTALLATION)
    before = opened(database)
    Servers(before, 3600.0).join("a", "a", "1")
    placements = Placements(before)
    placements.register("main")
    held = placements.take("main", "a")
    assert held is not None
    held = PostgresVaultLog(before).append(held, b"before")
    pair.promote()
    pair.revive()  # its host is the first of the address, and has the same heads
    fresh = opened(database)
    for number in range(6):
        connections = (before, fresh)[number % 2]
        with connections.single() as connection:
            assert connection.timeline is not None
            assert connection.timeline.number == 2
        held = PostgresVaultLog(connections).append(held, b"after")
    assert pair.entries_of_revived(database.rpartition("/")[2]) == 1
    before.close()
    fresh.close()


def test_what_leads_to_an_older_primary_is_not_used_once_a_newer_is_seen() -> None:
    newest = NewestTimeline("postgresql://old:1,new:2/strongroom")
    old, new = Timeline("1", 1), Timeline("1", 2)
    newest.note(("old", "1"), old)
    assert newest.is_newest(old)
    assert newest.address.startswith("postgresql://old")
    newest.note(("new", "2"), new)
    assert "host=new,old port=2,1" in newest.address
    assert not newest.is_newest(old)
    assert newest.is_newest(new)
    assert newest.is_newest(None)
    assert newest.is_newest(Timeline("2", 1))  # laid out anew, as by pg_upgrade


@pytest.mark.parametrize(
    ("parts", "hosts"),
    [
        ({"host": "a,b", "port": "1,2"}, [("a", "1"), ("b", "2")]),
        ({"host": "a,b", "port": "1"}, [("a", "1"), ("b", "1")]),
        ({"host": "a"}, [("a", "5432")]),
        ({"host": "a", "hostaddr": "10.0.0.1"}, []),
        ({}, []),
    ],
)
def test_hosts_are_told_with_their_ports(parts: dict[str, str], hosts: list[tuple[str, str]]) -> None:
    assert hosts_of(parts) == hosts
