"""What was made elsewhere a moment ago is there for the first who asks; guessing names costs a few looks at most."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from auth.grants import set_grant
from auth.roles import Role
from server.http.late_changes import LOOKS_PER_S, LateChanges
from tests.server.http.house import IDP, House, open_house, outside
from vaults import registry
from vaults.registry_cache import RegistryCache


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """Its caches are read when it opens, and by second looks: no poll runs."""
    async with open_house(tmp_path) as made:
        await made.db.write(lambda tx: registry.create(tx, "v1"))
        vaults = RegistryCache(made.db)
        await vaults.refresh()
        look = LateChanges(vaults, made.access_cache, lambda: made.now).look
        made.policy = replace(made.policy, vaults=vaults.names, look_again=look)
        yield made


@pytest.mark.parametrize("path", ["/v/fresh/mcp", "/mcp"])
async def test_a_vault_made_elsewhere_is_there_at_once(house: House, path: str) -> None:
    issued = await house.token("alice", "fresh")
    await house.db.write(lambda tx: registry.create(tx, "fresh"))
    assert (await house.call(path, token=issued.token)).status == 200
    assert house.admission.vault == "fresh"


async def test_a_grant_given_elsewhere_holds_at_once(house: House) -> None:
    assert (await house.call(token=outside())).status == 404
    await house.db.write(lambda tx: set_grant(tx, "carol", IDP, "v1", Role.READER))
    assert (await house.call(token=outside())).status == 200


async def test_whoever_guesses_names_has_control_asked_a_few_times_a_second(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    issued, looks, version = await house.token(), 0, house.db.version

    async def counted() -> tuple[int, int]:
        nonlocal looks
        looks += 1
        return await version()

    monkeypatch.setattr(house.db, "version", counted)
    for number in range(3 * LOOKS_PER_S):
        assert (await house.call(f"/v/guess-{number}/mcp", token=issued.token)).status == 404
    assert looks == 2 * LOOKS_PER_S  # of vaults and of grants
    house.now += 1.0
    assert (await house.call("/v/guess/mcp", token=issued.token)).status == 404
    assert looks == 2 * LOOKS_PER_S + 2
