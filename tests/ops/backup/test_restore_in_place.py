"""Restoring a vault whose notes lie in a folder of the user's own.

Covers ops.backup.notes_in_place, ops.backup.interrupted_restores.
"""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ops.backup import notes_in_place, restore
from ops.backup.restore import RestoreRequest
from server import vault_admin
from server.services import Services
from tests.conftest import Opening
from tests.ops.backup.restoring import as_owner_of, back_up, contents_of, installation
from tests.ops.backup.staged import Staged
from tests.work import PATIENCE_S
from vaults.errors import VaultUnavailable


@pytest.fixture
async def services(opening: Opening, tmp_path: Path) -> AsyncIterator[Services]:
    """Beside the folder, not around it."""
    async with opening(vaults=(), data=tmp_path / "data") as opened:
        yield opened


async def _serve(services: Services, folder: Path) -> None:
    for path, text in {"plan.md": "# Plan\n\nbuild the quay\n", "a/deep.md": "deep\n", "same.md": "same\n"}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "picture.png").write_bytes(b"not a note")
    await vault_admin.create(services, "own", folder)
    async with services.pool.lease(services.registry_cache.entry("own")) as vault:
        assert await vault.notes.wait_for_index(PATIENCE_S)
    await as_owner_of(services, "own")("remember", content="the harbour closes at nine")


async def _change(services: Services, folder: Path) -> None:
    (folder / "plan.md").write_text("changed\n")
    (folder / "a" / "deep.md").unlink()
    (folder / "later.md").write_text("later\n")
    await as_owner_of(services, "own")("remember", content="came later")


async def _backed_up_and_changed(services: Services, folder: Path, to: Path) -> Staged:
    await _serve(services, folder)
    backup = await back_up(services, to, "own")
    await _change(services, folder)
    return backup


async def test_notes_are_written_back_and_what_stood_there_is_kept_aside(services: Services, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    backup = await _backed_up_and_changed(services, folder, tmp_path / "backup")
    untouched = (folder / "same.md").stat().st_ino
    report = await restore.restore(installation(services), backup, RestoreRequest())
    assert report.notes is not None
    assert (sorted(report.notes.written), report.notes.removed) == (["a/deep.md", "plan.md"], ["later.md"])
    assert (folder / "plan.md").read_text() == "# Plan\n\nbuild the quay\n"
    assert (folder / "a" / "deep.md").read_text() == "deep\n"
    assert not (folder / "later.md").exists()
    assert (folder / "same.md").stat().st_ino == untouched
    assert (folder / "picture.png").read_bytes() == b"not a note"
    aside = report.notes.aside
    assert aside.parent == folder / ".strongroom"
    assert {each.relative_to(aside).as_posix(): each.read_text() for each in aside.rglob("*.md")} == {
        "plan.md": "changed\n", "later.md": "later\n",
    }  # fmt: skip
    assert [each.name for each in folder.iterdir() if each.name.startswith(".")] == [".strongroom"]
    ask = as_owner_of(services, "own")
    assert await contents_of(ask) == {"the harbour closes at nine"}
    async with services.pool.lease(services.registry_cache.entry("own")) as vault:
        assert await vault.notes.wait_for_index(PATIENCE_S)
    assert (await ask("search", query="quay", mode="keyword")).content["hits"]


async def test_whoever_opens_the_vault_after_a_kill_writes_the_notes(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine"
    backup = await _backed_up_and_changed(services, folder, tmp_path / "backup")
    place = notes_in_place.place_waiting

    async def place_nothing(_: object) -> None: ...

    monkeypatch.setattr(notes_in_place, "place_waiting", place_nothing)
    await restore.restore(installation(services), backup, RestoreRequest())
    assert (folder / "plan.md").read_text() == "changed\n"
    monkeypatch.setattr(notes_in_place, "place_waiting", place)
    assert await contents_of(as_owner_of(services, "own")) == {"the harbour closes at nine"}
    assert (folder / "plan.md").read_text() == "# Plan\n\nbuild the quay\n"
    assert not (folder / ".strongroom" / notes_in_place.WAITING).exists()


async def test_a_note_that_cannot_be_written_is_kept_and_named(services: Services, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    backup = await _backed_up_and_changed(services, folder, tmp_path / "backup")
    (folder / "plan.md").unlink()
    (folder / "plan.md").mkdir()
    report = await restore.restore(installation(services), backup, RestoreRequest())
    assert report.notes is not None
    assert list(report.notes.failed) == ["plan.md"]
    kept = report.notes.aside / notes_in_place.NOT_WRITTEN / "plan.md"
    assert kept.read_text() == "# Plan\n\nbuild the quay\n"


async def test_what_notes_replaced_outlasts_a_failure_and_the_next_to_open_goes_on(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine"
    backup = await _backed_up_and_changed(services, folder, tmp_path / "backup")

    def fail(_: Path) -> None:
        raise OSError(errno.EIO, "the disk went away")

    with monkeypatch.context() as patched:
        patched.setattr(notes_in_place, "_remove", fail)
        report = await restore.restore(installation(services), backup, RestoreRequest())
    assert (report.complete, report.notes) == (False, None)
    assert report.waiting is not None
    (aside,) = (folder / ".strongroom").glob("replaced-*")
    assert (aside / "plan.md").read_text() == "changed\n"
    assert (folder / "plan.md").read_text() == "# Plan\n\nbuild the quay\n"
    assert await contents_of(as_owner_of(services, "own")) == {"the harbour closes at nine"}
    assert not [each for each in (folder / ".strongroom").iterdir() if each.name.startswith("notes-")]
    assert (aside / "later.md").read_text() == "later\n"


@pytest.mark.parametrize("emptied", [True, False])
async def test_an_empty_place_of_a_disk_is_not_written_into(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, emptied: bool
) -> None:
    folder = tmp_path / "mine"
    backup = await _backed_up_and_changed(services, folder, tmp_path / "backup")
    await services.pool.close_vault("own")
    folder.rename(tmp_path / "unmounted")
    if emptied:
        folder.mkdir()
    with pytest.raises(VaultUnavailable, match="not mounted") as refused:
        await restore.restore(installation(services), backup, RestoreRequest())
    assert refused.value.details["reason"] == "empty_place"
    assert not folder.exists() or not list(folder.iterdir())
    (folder / ".strongroom").mkdir(parents=True)  # as the hint says
    assert (await restore.restore(installation(services), backup, RestoreRequest())).complete
    assert (folder / "plan.md").read_text() == "# Plan\n\nbuild the quay\n"
    assert await contents_of(as_owner_of(services, "own")) == {"the harbour closes at nine"}
