"""The newest backup of each vault is proven unasked, by one process, so often.

Covers ops.backup.drill_records.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from pydantic import ValidationError

from auth.keys import add_key, open_key_ring, remove_key
from ops.backup import drill_records
from ops.backup.archive_writer import write_archive
from ops.backup.drill_records import DrillRecord
from ops.backup.staging import StagedBackup
from ops.metrics import Metrics
from ops.settings import BackupSettings
from server import backup_drills
from server.backups import make_opener
from server.services import Recorders, Services
from tests.conftest import Opening
from tests.ops.backup.restoring import as_owner_of, back_up
from tests.work import PATIENCE_S
from vaults.db.lease import Lease

VAULTS = ("main", "other", "without")


async def _archive(services: Services, vault: str, to: Path) -> Path:
    await as_owner_of(services, vault)("remember", content=f"said in {vault}", title=f"Title of {vault}")
    staged = await back_up(services, to / f"staged-{vault}", vault)
    folder = to / "archives"
    folder.mkdir(exist_ok=True)
    return (await asyncio.to_thread(write_archive, StagedBackup(staged.folder, staged.manifest), folder)).path


def _settings(tmp_path: Path) -> dict[str, str]:
    return {"backup.to": str(tmp_path / "backups" / "archives"), "backup.drill_every": "7d"}


async def _records(services: Services) -> dict[str, DrillRecord]:
    names = {each.vault_id: each.name for each in services.registry_cache.entries()}
    found = await services.control.read(lambda tx: drill_records.read_all(tx, names))
    return {names[id_]: each for id_, each in found.items()}


async def test_each_vault_with_a_backup_is_drilled_and_a_bad_one_is_named(opening: Opening, tmp_path: Path) -> None:
    async with opening(_settings(tmp_path), vaults=VAULTS, data=tmp_path / "data") as opened:
        registry = CollectorRegistry()
        metrics = Metrics(registry, tools=[], version="1")
        services = replace(opened, recorders=Recorders(metrics=metrics))
        (tmp_path / "backups").mkdir()
        await _archive(services, "main", tmp_path / "backups")
        bad = await _archive(services, "other", tmp_path / "backups")
        whole = bad.read_bytes()
        bad.write_bytes(whole[:-100])
        assert await backup_drills.look(services) == 3
        outcomes = {name: each.outcome for name, each in (await _records(services)).items()}
        assert outcomes == {"main": "ok", "other": "failed", "without": "no_backup"}
        assert registry.get_sample_value("strongroom_drills_failing") == 1
        assert registry.get_sample_value("strongroom_drill_interval_seconds") == 604_800
        assert registry.get_sample_value("strongroom_drills_total", {"outcome": "failed"}) == 1
        assert await backup_drills.look(services) == 0, "they were held just now"

        bad.write_bytes(whole)
        await _let_pass(services, drill_records.RETRY_S)
        assert await backup_drills.look(services) == 2, "what did not pass is held again sooner"
        assert (await _records(services))["other"].outcome == "ok"
        assert registry.get_sample_value("strongroom_drills_failing") == 0


async def test_what_keeps_one_drill_from_being_held_keeps_no_other(
    opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = {**_settings(tmp_path), "backup.drill_identity_file": str(tmp_path / "nowhere")}
    async with opening(flags, vaults=("main", "other"), data=tmp_path / "data") as services:
        assert await backup_drills.look(services) == 2
        assert {each.outcome for each in (await _records(services)).values()} == {"invalid_argument"}

        def fail(*_: object) -> None:
            raise RuntimeError

        await _let_pass(services, drill_records.RETRY_S)
        monkeypatch.setattr("server.backups.make_opener", fail)
        assert await backup_drills.look(services) == 2
        assert {each.outcome for each in (await _records(services)).values()} == {"internal"}


async def test_of_two_processes_one_holds_drills(opening: Opening, tmp_path: Path) -> None:
    async with opening(_settings(tmp_path), data=tmp_path / "data") as services:
        other = Lease(services.data / backup_drills.LOCK_FILE)
        assert other.try_acquire()
        assert await backup_drills.look(services) == 0
        other.release()
        assert await backup_drills.look(services) == 1


async def test_drills_open_backups_signed_by_keys_that_are_encrypted_or_gone(opening: Opening, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("correct horse")
    flags = {**_settings(tmp_path), "auth.key_passphrase_file": str(secret)}
    async with opening(flags, data=tmp_path / "data") as services:
        ring = open_key_ring(services.data / "keys", str(secret))
        before = ring.newest
        add_key(ring)
        remove_key(ring, before)
        trusted = make_opener(services.settings, services.data).trusted
        assert set(trusted) == {before.kid, ring.newest.kid}


async def _let_pass(services: Services, seconds: float) -> None:
    """As if every drill had been tried so much earlier."""
    earlier = (datetime.now(UTC) - timedelta(seconds=seconds + 1)).isoformat()
    for name, each in (await _records(services)).items():
        value = each.model_copy(update={"tried": earlier}).model_dump_json()
        key = f"{drill_records.KEY}{services.registry_cache.entry(name).vault_id}"
        await services.control.write(
            lambda tx, key=key, value=value: tx.run(
                "UPDATE installation SET value = :value WHERE key = :key", {"key": key, "value": value}
            )
        )


def test_drills_of_encrypted_backups_need_a_key() -> None:
    recipients = ("age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq",)
    with pytest.raises(ValidationError, match="drill_identity_file"):
        BackupSettings(drill_every="7d", recipients=recipients)
    assert BackupSettings(drill_every="7d", recipients=recipients, drill_identity_file="key").drill_every_s == 604_800


async def test_a_defect_ends_no_drills_to_come_and_is_counted(
    opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, again = [], asyncio.Event()

    async def look(_services: Services) -> int:
        looked.append(1)
        if len(looked) == 2:
            again.set()
        raise ZeroDivisionError

    monkeypatch.setattr(backup_drills, "look", look)
    monkeypatch.setattr(backup_drills, "LOOK_S", 0)
    async with opening(_settings(tmp_path)) as services, backup_drills.keep_drilling(services):
        await asyncio.wait_for(again.wait(), PATIENCE_S)
        assert services.defects.current["drills"].kind == "ZeroDivisionError"
