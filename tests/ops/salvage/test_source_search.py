"""Archives, snapshots and the change log are found where backups go, newest first, and what is there comes back."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from ops.backup.archive_reader import NO_KEYS
from ops.backup.folder_store import FolderStore
from ops.backup.snapshot_writer import write_snapshot
from ops.backup.snapshots import folder_key
from ops.change_log.points import LogPoint
from ops.salvage import source_search
from ops.salvage.source_search import SalvageSource, SourceSearch
from ops.settings import BackupSettings
from tests.harmed_vault import NAME, read_rows, zero_pages
from tests.ops.backup.staged import staged
from tests.ops.salvage.salvages import changing, run_salvage, subject_of
from vaults.registry import VaultEntry


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "backups").mkdir()
    return tmp_path / "backups"


def _find(target: Path | None, data: Path, entry: VaultEntry) -> list[SalvageSource]:
    settings = BackupSettings(to=str(target) if target else None)
    return SourceSearch(settings, data, entry, NO_KEYS).find()


def _snapshot(target: Path, folder: Path, entry: VaultEntry, made_at: str) -> None:
    made = staged(folder, {"vault.db": (folder / "vault.db").read_bytes()}, made_at)
    manifest = made.manifest.model_copy(update={"vault_id": entry.vault_id})
    store = FolderStore(target)
    with store.hold(folder_key(entry.vault_id)):
        write_snapshot(store, entry.vault_id, replace(made, manifest=manifest))


def test_with_a_snapshot_all_that_is_older_than_it_comes_back(
    folder: Path, thread: ThreadPoolExecutor, target: Path, tmp_path: Path
) -> None:
    subject = subject_of(folder, thread)
    _snapshot(target, folder, subject.entry, "2026-11-25T21:00:00Z")
    yesterday = read_rows(folder / "vault.db")["memories"]
    with changing(folder / "vault.db") as raw:
        raw.execute("UPDATE memories SET tier = 'cold', version = version + 1 WHERE seq % 20 = 3")
    newer = {seq for seq in yesterday if seq % 20 == 3}
    zero_pages(folder / "vault.db")
    (found,) = _find(target, tmp_path, subject.entry)
    report = run_salvage(subject, found=[found])
    new = read_rows(folder / "vault.db")["memories"]
    assert new.keys() == yesterday.keys()
    changed = {seq for seq, row in new.items() if row != yesterday[seq]}
    assert changed <= newer
    assert len(changed) > len(newer) / 2, "what is newer in the file stays, but on pages that hold nothing now"
    assert (found.name, True) in {(each.name, each.used) for each in report.sources}


def test_the_newest_stands_first_whatever_it_is(
    folder: Path, thread: ThreadPoolExecutor, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = subject_of(folder, thread)
    for name in (f"{NAME}-20261125T220000Z-s15-v0.1.0.tar.zst", "other-20261127T000000Z-s15-v0.1.0.tar.zst"):
        (target / name).touch()
    for made_at in ("2026-11-25T21:00:00Z", "2026-11-25T23:00:00Z"):
        _snapshot(target, folder, subject.entry, made_at)
    point = LogPoint("line", 7, "2026-11-25T23:00:00.500Z", complete=True)
    written: list[tuple[str, LogPoint]] = []

    def materialise(_: object, vault_id: str, into: Path, at: LogPoint, **__: object) -> None:
        written.append((vault_id, at))
        shutil.copyfile(folder / "vault.db", into)

    monkeypatch.setattr(source_search, "find_point", lambda *_, **__: point)
    monkeypatch.setattr(source_search, "materialise", materialise)
    found = _find(target, tmp_path, subject.entry)
    assert [each.name for each in found] == [
        "change log",
        "00000002-20261125T230000Z.snapshot",
        f"{NAME}-20261125T220000Z-s15-v0.1.0.tar.zst",
        "00000001-20261125T210000Z.snapshot",
    ]
    (tmp_path / "into").mkdir()
    found[0].write(tmp_path / "into")
    assert written == [(subject.entry.vault_id, point)]


def test_what_is_of_no_use_is_told_and_the_next_is_taken(
    folder: Path, thread: ThreadPoolExecutor, target: Path, tmp_path: Path
) -> None:
    subject = subject_of(folder, thread)
    _snapshot(target, folder, subject.entry, "2026-11-25T21:00:00Z")
    (target / f"{NAME}-20261125T220000Z-s15-v0.1.0.tar.zst").write_bytes(b"torn")
    truth = read_rows(folder / "vault.db")["memories"]
    zero_pages(folder / "vault.db")
    report = run_salvage(subject, found=_find(target, tmp_path, subject.entry))
    torn, snapshot = report.sources[1:3]
    assert (torn.used, snapshot.used) == (False, True)
    assert torn.note
    assert read_rows(folder / "vault.db")["memories"] == truth


def test_a_target_that_is_gone_hides_no_loss(folder: Path, thread: ThreadPoolExecutor, tmp_path: Path) -> None:
    subject = subject_of(folder, thread)
    zero_pages(folder / "vault.db")
    report = run_salvage(subject, found=_find(tmp_path / "not mounted", tmp_path, subject.entry), dry_run=True)
    (gone,) = [each for each in report.sources if each.name == "backup.to"]
    assert not gone.used
    assert gone.note
    assert report.of("memories").lost > 0


def test_without_a_target_archives_lie_in_the_data_folder(
    folder: Path, thread: ThreadPoolExecutor, tmp_path: Path
) -> None:
    entry = subject_of(folder, thread).entry
    assert _find(None, tmp_path, entry) == []
    (tmp_path / "backups").mkdir()
    (tmp_path / "backups" / f"{NAME}-20261125T220000Z-s15-v0.1.0.tar.zst").touch()
    assert [each.moment for each in _find(None, tmp_path, entry)] == ["20261125T220000Z"]
