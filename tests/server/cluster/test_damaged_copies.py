"""A copy of a vault that is damaged is made anew from the log, and only what the log holds of damage shuts a vault out.

Covers vaults.cluster.held_vaults, vaults.pool.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.cluster.open_servers import OpenServer, OpenServers, open_servers
from vaults.cluster import held_vaults
from vaults.database_checks import DAMAGE_MARKER
from vaults.db.failures import damaged_error
from vaults.errors import VaultQuarantined, VaultUnavailable


@pytest.fixture
async def servers(url: str, tmp_path: Path) -> AsyncIterator[OpenServers]:
    async with open_servers(tmp_path, url, names=("a",)) as opened:
        assert (await opened.opened[0].asking()("remember", content="tea is at four")).ok
        yield opened


def _empty(database: Path) -> None:
    database.write_bytes(b"")


def _remove(database: Path) -> None:
    database.unlink()


def _spoil(database: Path) -> None:
    with database.open("r+b") as file:
        file.write(b"no database at all")


@pytest.mark.parametrize("harm", [_empty, _remove, _spoil])
async def test_a_copy_that_was_harmed_while_it_was_closed_fails_no_call(
    servers: OpenServers, harm: Callable[[Path], None]
) -> None:
    (a,) = servers.opened
    await a.services.pool.close_vault("main")
    harm(a.cluster.held.folder_of(a.entry()) / "vault.db")
    assert await contents(a) == ["tea is at four"]
    assert not a.services.pool.quarantined


async def test_calls_that_meet_damage_are_told_to_call_again_and_are_answered_then(servers: OpenServers) -> None:
    (a,) = servers.opened
    outcomes = await asyncio.gather(*(met_damage(a) for _ in range(3)), return_exceptions=True)
    assert [type(each) for each in outcomes] == [VaultUnavailable] * 3
    assert await contents(a) == ["tea is at four"]
    assert (await a.asking()("remember", content="cake is at five")).ok


async def test_damage_that_a_round_marked_is_gone_with_the_copy(servers: OpenServers) -> None:
    (a,) = servers.opened
    marker = a.cluster.held.folder_of(a.entry()) / DAMAGE_MARKER
    marker.write_text("words")
    await a.services.pool.rounds.run_round()
    assert await contents(a) == ["tea is at four"]
    assert not marker.exists()


async def test_what_is_damaged_again_as_it_was_restored_is_shut_out(
    servers: OpenServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    (a,) = servers.opened
    with pytest.raises(VaultUnavailable):
        await met_damage(a)
    assert await contents(a) == ["tea is at four"]
    with pytest.raises(VaultQuarantined):
        await met_damage(a)
    assert list(a.services.pool.quarantined) == ["main"]
    monkeypatch.setattr(held_vaults, "DAMAGED_AGAIN_S", 0.0)
    await a.services.pool.close_vault("main")
    with pytest.raises(VaultUnavailable):
        await met_damage(a)
    assert await contents(a) == ["tea is at four"]


async def met_damage(server: OpenServer) -> None:
    async with server.services.pool.lease(server.entry()):
        await asyncio.sleep(0)
        raise damaged_error()


async def contents(server: OpenServer) -> list[str]:
    found = await server.asking()("memory_list")
    assert found.ok, found.text
    return [each["content"] for each in found.content["memories"]]
