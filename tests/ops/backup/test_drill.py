"""A drill says whether a backup can be restored, and leaves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.backup import drill, restored_vault
from ops.backup.drill import DrillGround
from ops.backup.manifest import BackupQuestion
from server.services import Services
from tests.conftest import Asking
from tests.ops.backup.restoring import back_up
from tests.ops.backup.staged import Staged
from vaults.errors import InvalidArgument, StorageFull


async def _drill(services: Services, backup: Staged) -> drill.DrillReport:
    return await drill.run_drill(backup, DrillGround(services.pool, services.settings.storage, services.data))


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


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("remember", {"content": "the harbour closes at nine"}),  # its title only repeats it and is not searched
        ("note_write", {"path": "plan.md", "content": "build the quay"}),
        ("ingest", {"content": "# Tides\n\nhigh water at noon", "name": "tides.md"}),
    ],
)
async def test_a_vault_with_a_single_thing_in_it_is_asked_for_it(
    services: Services, ask: Asking, tmp_path: Path, tool: str, arguments: dict[str, str]
) -> None:
    assert (await ask(tool, **arguments)).ok
    report = await _drill(services, await back_up(services, tmp_path / "backup"))
    assert (report.steps[-1].name, report.steps[-1].message) == ("questions", "1 of 1 are answered as then"), report


async def test_a_vault_of_which_nothing_can_be_asked_says_so(services: Services, ask: Asking, tmp_path: Path) -> None:
    assert (await ask("remember", content="the harbour closes at nine", visibility="private")).ok
    report = await _drill(services, await back_up(services, tmp_path / "backup"))
    assert report.ok
    assert "none: nothing in it" in report.steps[-1].message


async def test_a_failure_is_told_of_the_step_that_failed(services: Services, backup: Staged) -> None:
    report = await _drill(services, backup.saying(ids_digest="0" * 64))
    assert [(step.name, step.ok) for step in report.steps] == [("archive", True), ("rows", False)]


async def test_a_note_that_was_saved_right_before_the_backup_is_no_false_alarm(
    services: Services, ask: Asking, tmp_path: Path
) -> None:
    for number in range(3):
        await ask("note_write", path=f"{number}.md", content=f"# Quay {number}\n\nquay\n")
    backup = await back_up(services, tmp_path / "backup")
    (backup.folder / "notes" / "2.md").write_text("# Another\n\nno such word, but many others\n")
    assert (await _drill(services, backup)).ok
    asked = (BackupQuestion(text="quay", answers=("somebody else",)),)
    assert _failed(await _drill(services, backup.saying(questions=asked))) == ["questions"]


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
