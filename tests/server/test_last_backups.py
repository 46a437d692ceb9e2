"""A vault that is deleted leaves a backup; where none can be made it stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.backup.archive_reader import open_archive
from server import vault_admin
from tests.conftest import Opening, asker
from vaults import pool as pools
from vaults.errors import VaultUnavailable


async def test_the_last_backup_holds_what_was_stored_last(
    opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "GATE_LOOK_S", 0.01)
    async with opening(vaults=("main", "other")) as services:
        assert (await asker(services)("remember", content="said last")).ok
        gone = await vault_admin.delete(services, "main", confirm="main")
        assert gone.backup is not None
        source = open_archive(gone.backup)
        assert source.read_manifest().vault_id == gone.entry.vault_id
        assert source.read_manifest().counts["memories"] == 1
        assert list(services.registry_cache.names()) == ["other"]
        assert not (tmp_path / "vaults" / "main").exists()


async def test_a_vault_that_was_not_backed_up_stays(opening: Opening, tmp_path: Path) -> None:
    async with opening({"backup.to": str(tmp_path / "not-mounted")}, vaults=("main", "other")) as services:
        with pytest.raises(VaultUnavailable):
            await vault_admin.delete(services, "other", confirm="other")
        assert services.registry_cache.known("other")
        async with services.pool.lease(services.registry_cache.entry("other")):
            pass
