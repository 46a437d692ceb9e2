"""Without a last backup nothing is deleted."""

from __future__ import annotations

import pytest

from server import vault_admin
from tests.conftest import Opening
from vaults.errors import VaultUnavailable


async def test_a_vault_that_was_not_backed_up_stays(opening: Opening) -> None:
    async with opening(vaults=("main", "other")) as services:
        with pytest.raises(VaultUnavailable):
            await vault_admin.delete(services, "other", confirm="other")
        assert services.registry_cache.known("other")
