"""Two servers of one installation: a vault is with one of them, and nothing that was answered is lost on its way.

Covers server.cluster.parts, vaults.cluster.held_vaults, vaults.cluster.hand_overs, vaults.cluster.vault_locations.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cluster.open_servers import OpenServer, OpenServers, open_servers
from tests.cluster.postgres_server import PostgresServer
from vaults.cluster import hand_overs
from vaults.vault_hosting import VaultElsewhere


@pytest.fixture(autouse=True)
def unbalanced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vaults stay where the tests have them."""
    monkeypatch.setattr(hand_overs, "IDLE_S", float("nan"))


@pytest.fixture
async def servers(postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[OpenServers]:
    async with open_servers(tmp_path, postgres.create_database()) as opened:
        yield opened


async def remember(server: OpenServer, *texts: str, vault: str = "main") -> None:
    for text in texts:
        assert (await server.asking(vault)("remember", content=text)).ok


async def contents(server: OpenServer, vault: str = "main") -> set[str]:
    found = await server.asking(vault)("memory_list", limit=100)
    assert found.ok, found.text
    return {each["content"] for each in found.content["memories"]}


async def test_a_vault_is_with_one_server_and_handed_over_whole(servers: OpenServers) -> None:
    a, b = servers.opened
    await remember(a, "tea is at four")
    with pytest.raises(VaultElsewhere) as refused:
        async with b.services.pool.lease(b.entry()):
            pass
    assert refused.value.address == a.cluster.door.address
    assert await a.cluster.held.hand_over(a.entry().vault_id, 5.0)
    assert await contents(b) == {"tea is at four"}
    await remember(b, "cake is at five")
    assert await b.cluster.held.hand_over(b.entry().vault_id, 5.0)
    assert await contents(a) == {"tea is at four", "cake is at five"}
