"""A vault has one holder at a time, and each new one a new epoch."""

from __future__ import annotations

import threading

import pytest

from tests.vaults.cluster.postgres.conftest import lose, wait_until_blocked
from vaults.cluster.failures import Fenced
from vaults.cluster.postgres.connections import Connections
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.postgres.placements import Placements, VaultHolder
from vaults.cluster.postgres.servers import Servers
from vaults.cluster.vault_log import Placement
from vaults.errors import NotFound

TAKERS = 50


@pytest.fixture
def placements(connections: Connections) -> Placements:
    placements = Placements(connections)
    placements.register("main")
    return placements


@pytest.fixture
def servers(connections: Connections) -> Servers:
    servers = Servers(connections, 3600.0)
    for name in ("a", "b"):
        servers.join(name, f"{name}:8700", "1")
    return servers


def test_a_new_vault_is_taken_at_epoch_one(placements: Placements, servers: Servers) -> None:
    assert placements.take("main", "a") == Placement("main", "a", 1, 0)
    assert placements.holder("main") == VaultHolder("main", "a", 1, 0, "a:8700")


def test_a_vault_of_a_living_server_is_not_taken(placements: Placements, servers: Servers) -> None:
    placements.take("main", "a")
    assert placements.take("main", "b") is None
    assert placements.holder("main").server == "a"


def test_a_vault_of_a_lost_server_is_taken_over_at_the_next_epoch(
    placements: Placements, servers: Servers, connections: Connections
) -> None:
    placements.take("main", "a")
    lose(connections, "a")
    assert placements.holder("main").address is None
    assert placements.take("main", "b") == Placement("main", "b", 2, 0)


def test_taking_ones_own_vault_again_fences_what_was_under_way(placements: Placements, servers: Servers) -> None:
    placements.take("main", "a")
    assert placements.take("main", "a") == Placement("main", "a", 2, 0)


def test_a_server_that_is_lost_itself_takes_nothing(
    placements: Placements, servers: Servers, connections: Connections
) -> None:
    lose(connections, "b")
    assert placements.take("main", "b") is None


def test_a_vault_is_given_back_once(placements: Placements, servers: Servers) -> None:
    held = placements.take("main", "a")
    assert held is not None
    assert placements.release(held)
    assert not placements.release(held)
    assert placements.take("main", "b") == Placement("main", "b", 2, 0)
    assert not placements.release(held)
    assert placements.holder("main").server == "b"


def test_vaults_are_listed_with_their_holders(placements: Placements, servers: Servers) -> None:
    for vault in ("zoo", "ark", "main"):
        placements.register(vault)
    placements.take("zoo", "a")
    placements.take("ark", "b")
    assert [(each.vault, each.server) for each in placements.holders()] == [("ark", "b"), ("main", None), ("zoo", "a")]
    assert [each.vault for each in placements.held_by("a")] == ["zoo"]


def test_a_vault_that_nobody_registered_is_not_found(placements: Placements, servers: Servers) -> None:
    assert placements.take("nowhere", "a") is None
    with pytest.raises(NotFound):
        placements.holder("nowhere")


def test_of_fifty_who_take_at_once_one_wins(placements: Placements, servers: Servers, connections: Connections) -> None:
    """Each round the holder is lost, and everybody wants its vault."""
    names = [f"taker-{number}" for number in range(TAKERS)]
    for name in names:
        servers.join(name, name, "1")
    for epoch in range(1, 4):
        won = race(placements, names)
        assert [(each.epoch, each.head) for each in won] == [(epoch, 0)]
        assert placements.holder("main").server == won[0].server
        lose(connections, won[0].server)
        names.remove(won[0].server)


def race(placements: Placements, names: list[str]) -> list[Placement]:
    won: list[Placement] = []
    ready = threading.Barrier(len(names))

    def take(name: str) -> None:
        ready.wait()
        placement = placements.take("main", name)
        if placement is not None:
            won.append(placement)

    threads = [threading.Thread(target=take, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return won


def test_who_found_a_vault_free_and_came_late_does_not_take_it(
    placements: Placements, servers: Servers, connections: Connections
) -> None:
    """It waits for the row while another takes the vault: a server that joined after the latecomer looked, and that
    its snapshot does not show."""
    late: list[Placement | None] = []
    with connections.use() as holding, holding.transaction():
        holding.execute("SELECT 1 FROM strongroom.placement WHERE vault = 'main' FOR UPDATE")
        thread = threading.Thread(target=lambda: late.append(placements.take("main", "b")))
        thread.start()
        wait_until_blocked(connections)
        holding.execute("INSERT INTO strongroom.servers VALUES ('new', 'new', '1', 1, 3, now())")
        holding.execute("UPDATE strongroom.placement SET server = 'new', epoch = epoch + 1 WHERE vault = 'main'")
    thread.join()
    assert late == [None]
    assert placements.holder("main").server == "new"


def test_a_vault_that_is_wanted_is_kept_for_who_wants_it(
    placements: Placements, servers: Servers, connections: Connections
) -> None:
    held = placements.take("main", "a")
    assert held is not None
    servers.join("c", "c", "1")
    assert placements.want("main", "c")
    assert not placements.want("main", "b")
    assert placements.wishes_for("a").asked == ["main"]
    assert placements.holder("main").wanted == "c"
    assert placements.release(held)
    assert placements.take("main", "b") is None
    assert placements.take("main", "c") == Placement("main", "c", 2, 0)
    assert placements.holder("main").wanted is None
    assert not placements.want("main", "c")


def test_a_vault_that_lies_free_for_a_server_goes_to_who_asks_for_it_now(
    placements: Placements, servers: Servers
) -> None:
    held = placements.take("main", "a")
    assert held is not None
    assert placements.want("main", "b")  # as a vault is handed to the server that is to have it one day
    servers.join("c", "c", "1")
    assert not placements.want("main", "c"), "who holds it hands it to the first"
    assert placements.release(held)
    assert placements.take("main", "c") is None
    assert placements.want("main", "c")
    assert placements.take("main", "b") is None
    assert placements.take("main", "c") is not None


def test_a_vault_wanted_by_a_server_that_is_gone_is_anybodys(
    placements: Placements, servers: Servers, connections: Connections
) -> None:
    held = placements.take("main", "a")
    assert held is not None
    assert placements.want("main", "b")
    lose(connections, "b")
    assert placements.wishes_for("a").asked == []
    assert placements.release(held)
    assert placements.take("main", "a") is not None


def test_a_holder_that_takes_its_own_vault_anew_is_still_asked_for_it(placements: Placements, servers: Servers) -> None:
    placements.take("main", "a")
    assert placements.want("main", "b")
    assert placements.take("main", "a") is not None
    assert placements.wishes_for("a").asked == ["main"]
    placements.forgo("main", "b")
    assert placements.wishes_for("a").asked == []


def test_a_purge_is_remembered_until_a_base_takes_its_place(
    placements: Placements, servers: Servers, connections: Connections
) -> None:
    log, held = PostgresVaultLog(connections), placements.take("main", "a")
    assert held is not None
    log.replace_base(held, 0, [b"base"])
    held = log.note_purge(log.append(held, b"entry"))
    assert held.purged == 1
    again = placements.take("main", "a")
    assert again is not None
    assert again.purged == 1
    with pytest.raises(Fenced):
        log.note_purge(held)
    log.replace_base(again, 1, [b"base"])
    after = placements.take("main", "a")
    assert after is not None
    assert after.purged == 0
