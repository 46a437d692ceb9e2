"""The newest backup of each vault is proven unasked, by one process, so often."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pydantic import ValidationError

from ops.backup.archive_writer import write_archive
from ops.backup.staging import StagedBackup
from ops.settings import BackupSettings
from server import backup_drills
from server.services import Services
from tests.conftest import Opening
from tests.ops.backup.restoring import as_owner_of, back_up

VAULTS = ("main", "other", "without")


async def _archive(services: Services, vault: str, to: Path) -> Path:
    await as_owner_of(services, vault)("remember", content=f"said in {vault}", title=f"Title of {vault}")
    staged = await back_up(services, to / f"staged-{vault}", vault)
    folder = to / "archives"
    folder.mkdir(exist_ok=True)
    return (await asyncio.to_thread(write_archive, StagedBackup(staged.folder, staged.manifest), folder)).path


async def test_each_vault_with_a_backup_is_drilled_and_a_bad_one_is_named(opening: Opening, tmp_path: Path) -> None:
    flags = {"backup.to": str(tmp_path / "backups" / "archives"), "backup.drill_every": "7d"}
    async with opening(flags, vaults=VAULTS, data=tmp_path / "data") as services:
        (tmp_path / "backups").mkdir()
        await _archive(services, "main", tmp_path / "backups")
        bad = await _archive(services, "other", tmp_path / "backups")
        bad.write_bytes(bad.read_bytes()[:-100])
        assert await backup_drills.begin(services)
        main, other = await backup_drills.drill_all(services)
        assert (main.vault, main.ok, other.ok) == ("main", True, False)
        assert not await backup_drills.begin(services), "they were held just now"


def test_drills_of_encrypted_backups_need_a_key() -> None:
    recipients = ("age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq",)
    with pytest.raises(ValidationError, match="drill_identity_file"):
        BackupSettings(drill_every="7d", recipients=recipients)
    assert BackupSettings(drill_every="7d", recipients=recipients, drill_identity_file="key").drill_every_s == 604_800
