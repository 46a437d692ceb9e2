"""A drill says whether a backup can be restored, and leaves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.backup import drill, restored_vault
from ops.backup.manifest import BackupQuestion
from server.services import Services
from tests.conftest import Asking
from tests.ops.backup.restoring import Staged, back_up
from vaults.errors import InvalidArgument, StorageFull


async def _drill(services: Services, backup: Staged) -> drill.DrillReport:
    return await drill.run_drill(backup, services.pool, services.settings.storage, services.data)


def _failed(report: drill.DrillReport) -> list[str]:
    return [step.name for step in report.steps if not step.ok]


@pytest.fixture
async def backup(services: Services, ask: Asking, tmp_path: Path) -> Staged:
    await ask("remember", content="the harbour closes at nine", title="Hours of the harbour")
    await ask("note_write", path="plan.md", content="# Plan\n\nbuild the quay\n")
    return await back_up(services, tmp_path / "backup")


async def test_a_good_backup_passes_every_step(services: Services, backup: Staged, tmp_path: Path) -> None:
    report = await _drill(services, backup)
    assert report.ok
    assert [step.name for step in report.steps] == ["archive", "rows", "schema", "verify", "questions"]
    assert not [each for each in (tmp_path / "vaults").iterdir() if each.name.startswith(".")]


async def test_another_answer_than_then_fails(services: Services, backup: Staged) -> None:
    asked = (BackupQuestion(text="Hours of the harbour", answers=("somebody else",)),)
    report = await _drill(services, backup.saying(questions=asked))
    assert _failed(report) == ["questions"]


async def test_an_archive_that_cannot_be_read_fails_and_is_told(
    services: Services, backup: Staged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise InvalidArgument("archive", "is cut short")

    monkeypatch.setattr(backup, "extract", refuse)
    report = await _drill(services, backup)
    assert _failed(report) == ["archive"]
    assert "cut short" in report.steps[-1].message
    assert not [each for each in (tmp_path / "vaults").iterdir() if each.name.startswith(".")]


async def test_a_note_that_is_not_the_one_the_rows_know_of_is_read_again(services: Services, backup: Staged) -> None:
    (backup.folder / "notes" / "plan.md").write_text("# Another\n\ntext\n")
    assert (await _drill(services, backup)).ok, "a program saved it, and the index had not read it yet"


async def test_a_full_disk_is_no_fault_of_the_backup(
    services: Services, backup: Staged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restored_vault, "free_bytes", lambda _: 1_000)
    with pytest.raises(StorageFull):
        await _drill(services, backup)
