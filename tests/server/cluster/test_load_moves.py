"""A server that has too much to do has one of its vaults served by another, and who calls it notices nothing.

Covers vaults.cluster.hand_overs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from server.cluster import vault_pins
from tests.cluster.open_servers import OpenServer, OpenServers, contents, open_servers, until
from vaults.cluster import hand_overs, load_moves
from vaults.cluster.server_load import ServerLoad, VaultLoad
from vaults.vault_hosting import VaultUse

VAULTS = ("main", "second")


@dataclass
class SaidLoad:
    """In the place of a meter: servers of one process would all measure the same. Each open vault takes half."""

    cpu: float = 0.0

    def sample(self, uses: Sequence[VaultUse]) -> ServerLoad:
        return ServerLoad(self.cpu, 0.0, tuple(VaultLoad(each.vault, self.cpu / 2, 0.0) for each in uses))


@pytest.fixture
async def two(url: str, tmp_path: Path, unbalanced: None) -> AsyncIterator[OpenServers]:
    """Servers a and b. The first holds both vaults, and nobody has much to do yet."""
    flags = {"cluster.move_every_s": 1}
    async with open_servers(tmp_path, url, vaults=VAULTS, **flags) as opened:
        for server in opened.opened:
            say(server, 0.0)
        yield opened


def say(server: OpenServer, cpu: float) -> None:
    server.cluster.load_moves.meter = SaidLoad(cpu)  # type: ignore[assignment]


def held(server: OpenServer) -> set[str]:
    """The names of the vaults it has, as long as no other one can take them."""
    of = server.cluster.held
    ids = {name: server.entry(name).vault_id for name in VAULTS}
    return {name for name, vault in ids.items() if vault in of.ids() or of.is_leaving(vault)}


async def moved(servers: OpenServers) -> str:
    """The name of the vault that the other server has, once it has one and both know of it."""
    a, b = servers.opened
    await until(lambda: len(held(a)) == 1 and all(len(each.cluster.held.moved) == 1 for each in (a, b)))
    (name,) = set(VAULTS) - held(a)
    return name


async def test_a_busy_server_gives_a_vault_away_with_all_it_holds(two: OpenServers) -> None:
    a, b = two.opened
    for name in VAULTS:
        assert (await a.asking(name)("remember", content=f"This is {name}.")).ok
    say(a, 0.9)
    name = await moved(two)
    assert await contents(b, name) == {f"This is {name}."}
    assert (held(a) | held(b), held(b)) == (set(VAULTS), {name})


async def test_it_stays_there_whatever_its_hash_says(two: OpenServers, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = two.opened
    say(a, 0.9)
    name = await moved(two)
    say(a, 0.0)
    assert (await b.asking(name)("memory_list")).ok
    monkeypatch.setattr(hand_overs, "IDLE_S", 0.0)
    targets = [server.cluster.held.target_of(b.entry(name).vault_id) for server in (a, b)]
    assert [target and target.id for target in targets] == [b.id, b.id]
    located = await a.cluster.held.locate(a.entry(name))
    assert located is not None
    assert located.id == b.id


async def test_once_that_server_is_gone_its_hash_says_again(two: OpenServers) -> None:
    a, b = two.opened
    say(a, 0.9)
    name = await moved(two)
    say(a, 0.0)
    await b.end()
    two.opened.remove(b)
    assert (await a.asking(name)("memory_list")).ok
    await until(lambda: not a.cluster.held.moved)
    assert a.cluster.held.placements.holder(a.entry(name).vault_id).pin is None


@pytest.mark.parametrize("name", VAULTS)
async def test_a_vault_that_a_long_call_has_stays(two: OpenServers, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    a = two.opened[0]
    monkeypatch.setattr(load_moves, "LONG_CALL_S", 0.0)
    async with a.services.pool.lease(a.entry(name)):
        say(a, 0.9)
        assert await moved(two) != name
        say(a, 0.0)
    assert held(a) == {name}


async def test_a_pin_is_an_operators_word(two: OpenServers) -> None:
    a = two.opened[0]
    for name in VAULTS:
        await vault_pins.pin(a.services.control, name, "a")
    await until(lambda: len(a.cluster.held.pins) == len(VAULTS))
    beats = []
    a.cluster.membership.on_beat.append(lambda: beats.append(1))
    say(a, 0.9)
    await until(lambda: len(beats) > 8)  # more than a second of them
    assert held(a) == set(VAULTS)
    await vault_pins.unpin(a.services.control, "main")
    assert await moved(two) == "main"
    await vault_pins.pin(a.services.control, "main", "a")
    assert a.cluster.held.placements.holder(a.entry("main").vault_id).pin == "a"
    await vault_pins.unpin(a.services.control, "main")
    assert a.cluster.held.placements.holder(a.entry("main").vault_id).pin is None
