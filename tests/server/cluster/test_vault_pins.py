"""A pinned vault goes to its server while that one serves, and every server decides alike.

Covers vaults.cluster.hand_overs.
"""

from __future__ import annotations

import pytest

from server.cluster import vault_pins
from server.cluster.backup_share import own_share
from tests.cluster.open_servers import OpenServer, OpenServers, until
from tests.work import PATIENCE_S
from vaults.cluster import hand_overs
from vaults.errors import InvalidArgument, NotFound


def has_left(server: OpenServer, vault: str) -> bool:
    return vault not in server.cluster.held.ids() and not server.cluster.held.is_leaving(vault)


def home_and_other(servers: OpenServers) -> tuple[OpenServer, OpenServer]:
    """By the hash alone."""
    a, b = servers.opened
    return (a, b) if a.cluster.held.is_preferred(a.entry().vault_id) else (b, a)


async def pinned(servers: OpenServers, to: str) -> None:
    """Returns once each server has heard of it."""
    control = servers.opened[0].services.control
    assert await vault_pins.pin(control, "main", to)
    await until(lambda: all(list(each.cluster.held.pins.values()) == [to] for each in servers.opened))


async def test_an_idle_vault_goes_to_the_server_it_is_pinned_to_and_back_when_it_is_not(
    servers: OpenServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, other = home_and_other(servers)
    vault = home.entry().vault_id
    assert (await servers.opened[0].asking()("remember", content="tea is at four")).ok
    monkeypatch.setattr(hand_overs, "IDLE_S", 0.0)
    await pinned(servers, other.name)
    await until(lambda: has_left(home, vault))
    assert (await other.asking()("memory_list")).content["memories"][0]["content"] == "tea is at four"
    await vault_pins.unpin(home.services.control, "main")
    await until(lambda: has_left(other, vault))
    assert (await home.asking()("memory_list")).content["memories"][0]["content"] == "tea is at four"


async def test_a_free_vault_is_its_pins_wherever_that_is_asked(servers: OpenServers) -> None:
    home, other = home_and_other(servers)
    entry = home.entry()
    await pinned(servers, other.name)
    await servers.opened[0].cluster.held.hand_over(entry.vault_id, 5.0)
    assert [each.cluster.held.is_preferred(entry.vault_id) for each in (home, other)] == [False, True]
    located = await home.cluster.held.locate(entry)
    assert located is not None
    assert located.name == other.name
    assert await other.cluster.held.locate(entry) is None
    assert [await own_share(each.cluster.held, [entry]) for each in (home, other)] == [[], [entry]]


async def test_while_its_server_drains_a_pinned_vault_is_served_by_another(servers: OpenServers) -> None:
    home, other = home_and_other(servers)
    await pinned(servers, other.name)
    await servers.opened[0].cluster.held.hand_over(home.entry().vault_id, 5.0, other.id)
    assert (await other.asking()("remember", content="tea is at four")).ok
    await other.cluster.drain(PATIENCE_S)
    assert home.cluster.held.is_preferred(home.entry().vault_id)
    assert (await home.asking()("memory_list")).content["memories"][0]["content"] == "tea is at four"


async def test_a_pin_names_a_vault_and_may_name_a_server_that_is_to_come(servers: OpenServers) -> None:
    a = servers.opened[0]
    assert not await vault_pins.pin(a.services.control, "main", "gamma")
    assert a.cluster.held.placements.holder(a.entry().vault_id).pin == "gamma"
    with pytest.raises(NotFound):
        await vault_pins.pin(a.services.control, "none", "a")
    with pytest.raises(InvalidArgument, match="--to"):
        await vault_pins.pin(a.services.control, "main", "no server")
