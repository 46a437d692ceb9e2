"""The new database takes the place of the damaged one, which is kept; a kill in between leaves a vault to salvage.

Covers ops.salvage.salvaging, ops.salvage.backup_rows, ops.salvage.whole_sources, ops.salvage.known_vectors,
ops.salvage.needed_room, ops.salvage.soundness.
"""

from __future__ import annotations

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from ops.salvage import exchange
from ops.salvage.salvaging import SalvageSubject, salvage
from ops.salvage.source_search import SalvageSource
from tests.harmed_vault import Rows, read_rows, zero_pages
from tests.ops.salvage.salvages import run_salvage, subject_of
from vaults import disk_reserve
from vaults.db.engine import sqlite
from vaults.disk_reserve import MB
from vaults.errors import InvalidArgument, StorageFull, VaultQuarantined, VaultUnavailable
from vaults.vault_gate import VaultGate


def test_a_sound_database_is_left_as_it_is(folder: Path, thread: ThreadPoolExecutor) -> None:
    before = (folder / "vault.db").read_bytes()
    assert run_salvage(subject_of(folder, thread)).sound
    assert (folder / "vault.db").read_bytes() == before


def test_what_is_lost_is_told_and_what_is_left_is_whole(folder: Path, whole: Path, thread: ThreadPoolExecutor) -> None:
    subject = subject_of(folder, thread)
    zero_pages(folder / "vault.db")
    damaged = (folder / "vault.db").read_bytes()
    told = run_salvage(subject, dry_run=True)
    assert (folder / "vault.db").read_bytes() == damaged
    report = run_salvage(subject)
    assert not report.whole
    assert report.of("memories").lost == told.of("memories").lost > 0
    assert Path(report.kept_as or "").read_bytes() == damaged
    assert not list(folder.glob(f"{exchange.SCRATCH_PREFIX}*"))
    truth, new = read_rows(whole / "vault.db"), read_rows(folder / "vault.db")
    assert new["memories"].items() < truth["memories"].items()
    assert len(truth["memories"]) - len(new["memories"]) == report.of("memories").lost
    _assert_sound(folder / "vault.db", new)


def test_a_disk_with_too_little_room_is_refused_before_anything_is_written(
    folder: Path, thread: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = subject_of(folder, thread)
    zero_pages(folder / "vault.db")
    size = (folder / "vault.db").stat().st_size
    there, free = sorted(folder.rglob("*")), 2 * size + subject.storage.reserve_mb * MB
    monkeypatch.setattr(disk_reserve, "free_bytes", lambda _: free - 1)
    with pytest.raises(StorageFull, match=re.escape(str(folder))) as refused:
        run_salvage(subject)
    assert refused.value.details["needed_bytes"] == free
    assert sorted(folder.rglob("*")) == there
    monkeypatch.setattr(disk_reserve, "free_bytes", lambda _: free)
    assert run_salvage(subject).kept_as


def test_a_disk_that_fills_up_under_a_backup_ends_the_salvage(folder: Path, thread: ThreadPoolExecutor) -> None:
    def fill(_into: Path) -> None:
        raise StorageFull("the disk is full")

    subject = subject_of(folder, thread)
    zero_pages(folder / "vault.db")
    damaged = (folder / "vault.db").read_bytes()
    with pytest.raises(StorageFull):  # without the backup, what it has would be lost
        run_salvage(subject, found=[SalvageSource("yesterday", "", fill)])
    assert (folder / "vault.db").read_bytes() == damaged


def _assert_sound(path: Path, rows: Rows) -> None:
    with closing(sqlite.connect(path)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
        cut = raw.execute("SELECT COUNT(DISTINCT item) FROM passages WHERE kind = 'memory'").fetchone()[0]
        last = raw.execute("SELECT seq FROM sqlite_sequence WHERE name = 'memories'").fetchone()[0]
        found = raw.execute("SELECT COUNT(*) FROM passages_fts WHERE passages_fts MATCH 'harbour'").fetchone()[0]
        vectors = raw.execute("SELECT COUNT(*) FROM embeddings").fetchone()[0]
    assert cut == len(rows["memories"])
    assert last >= max(rows["memories"])
    assert found > 0
    assert vectors > 0, "those that are known are not made again"


def test_a_backup_gives_back_what_is_lost_and_nothing_that_was_deleted(
    folder: Path, whole: Path, thread: ThreadPoolExecutor, tmp_path: Path
) -> None:
    backup, subject = tmp_path / "yesterday.db", subject_of(folder, thread)
    shutil.copyfile(folder / "vault.db", backup)
    with closing(sqlite.connect(folder / "vault.db", isolation_level=None)) as raw:
        (gone,) = raw.execute("SELECT seq FROM memories WHERE content LIKE 'memory 7 of%'").fetchone()
        raw.execute("PRAGMA wal_autocheckpoint=1")
        raw.execute("DELETE FROM passages WHERE kind = 'memory' AND item = ?", (gone,))
        raw.execute("DELETE FROM memories WHERE seq = ?", (gone,))
    zero_pages(folder / "vault.db")
    report = run_salvage(subject, (backup,))
    truth = read_rows(whole / "vault.db")["memories"]
    del truth[gone]
    assert read_rows(folder / "vault.db")["memories"] == truth
    assert report.of("memories").from_backup > 0
    assert report.whole


def test_of_a_database_that_is_gone_the_backup_is_left(
    folder: Path, whole: Path, thread: ThreadPoolExecutor, tmp_path: Path
) -> None:
    backup, subject = tmp_path / "yesterday.db", subject_of(folder, thread)
    (folder / "vault.db").rename(backup)
    report = run_salvage(subject, (backup,))
    new, truth = read_rows(folder / "vault.db"), read_rows(whole / "vault.db")
    assert {table: rows for table, rows in new.items() if table != "vault_info"} == {
        table: rows for table, rows in truth.items() if table != "vault_info"
    }
    assert not report.whole, "nobody knows what came after the backup"


def test_a_log_that_was_never_moved_into_the_file_is_used(folder: Path, thread: ThreadPoolExecutor) -> None:
    subject = subject_of(folder, thread)
    with closing(sqlite.connect(folder / "vault.db", isolation_level=None)) as raw:
        raw.execute("PRAGMA wal_autocheckpoint=0")
        raw.execute("INSERT INTO note_edits VALUES ('only in the log', 1, '2026-01-01T00:00:00Z')")
        log = (folder / "vault.db-wal").read_bytes()
        data = (folder / "vault.db").read_bytes()
    (folder / "vault.db").write_bytes(data)
    (folder / "vault.db-wal").write_bytes(log)
    zero_pages(folder / "vault.db")
    report = run_salvage(subject)
    assert any(row[0] == "only in the log" for row in read_rows(folder / "vault.db")["note_edits"].values())
    assert report.of("note_edits").from_log > 0
    assert not (folder / "vault.db-wal").exists() or not (folder / "vault.db-wal").stat().st_size
    assert Path(f"{report.kept_as}-wal").read_bytes() == log


@pytest.mark.parametrize("step", [1, 3, 4, 6, 8])
def test_a_kill_between_any_two_steps_leaves_a_vault_that_can_be_salvaged(
    folder: Path, whole: Path, thread: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Each step that changes a name or sees one to the disk is made to be the last."""
    subject, done = subject_of(folder, thread), 0
    with closing(sqlite.connect(folder / "vault.db", isolation_level=None)) as raw:
        raw.execute("PRAGMA wal_autocheckpoint=0")
        raw.execute("INSERT INTO note_edits VALUES ('only in the log', 1, '2026-01-01T00:00:00Z')")
        log, data = (folder / "vault.db-wal").read_bytes(), (folder / "vault.db").read_bytes()
    (folder / "vault.db").write_bytes(data)
    (folder / "vault.db-wal").write_bytes(log)
    zero_pages(folder / "vault.db")

    def dying(call: object) -> object:
        def run(*args: object, **kwargs: object) -> object:
            nonlocal done
            done += 1
            if done == step:
                raise KeyboardInterrupt
            return call(*args, **kwargs)  # type: ignore[operator]

        return run

    with monkeypatch.context() as patch:
        patch.setattr(exchange, "sync_folder", dying(exchange.sync_folder))
        patch.setattr(exchange, "_name_again", dying(exchange._name_again))
        patch.setattr(Path, "replace", dying(Path.replace))
        patch.setattr(exchange.snapshot, "remove", dying(exchange.snapshot.remove))
        try:
            run_salvage(subject)
        except KeyboardInterrupt:
            assert _run_after_kill(subject, monkeypatch)
    rows = read_rows(folder / "vault.db")
    assert any(row[0] == "only in the log" for row in rows["note_edits"].values())
    assert rows["memories"].items() <= read_rows(whole / "vault.db")["memories"].items()
    assert len(rows["memories"]) > 50


def _run_after_kill(subject: SalvageSubject, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.undo()
    return run_salvage(subject) is not None


async def test_an_open_vault_is_not_salvaged_under_its_users(
    folder: Path, thread: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ops.salvage.salvaging.GATE_WAIT_S", 0.0)
    gate = VaultGate(folder)
    gate.enter()
    try:
        with pytest.raises(VaultUnavailable):
            await salvage(subject_of(folder, thread))
    finally:
        gate.leave()


def test_another_vaults_files_are_refused(folder: Path, thread: ThreadPoolExecutor) -> None:
    zero_pages(folder / "vault.db")
    with pytest.raises(VaultQuarantined) as refused:
        run_salvage(subject_of(folder, thread, "another"))
    assert refused.value.details["reason"] == "foreign"


def test_what_is_no_backup_is_refused(folder: Path, thread: ThreadPoolExecutor, tmp_path: Path) -> None:
    subject = subject_of(folder, thread)
    zero_pages(folder / "vault.db")
    (tmp_path / "letter").write_text("Dear all")
    with pytest.raises(InvalidArgument):
        run_salvage(subject, (tmp_path / "letter",))


def test_a_log_whose_database_is_gone_is_read_all_the_same(folder: Path, thread: ThreadPoolExecutor) -> None:
    """All of a young vault may stand in its log."""
    subject, path = subject_of(folder, thread), folder / "vault.db"
    with closing(sqlite.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA wal_autocheckpoint=0")
        raw.execute("VACUUM")  # writes every page
        log = (folder / "vault.db-wal").read_bytes()
    truth = read_rows(path)
    path.unlink()
    (folder / "vault.db-wal").write_bytes(log)
    report = run_salvage(subject)
    assert read_rows(path)["memories"] == truth["memories"]
    assert report.of("memories").from_log == len(truth["memories"])
    assert report.kept_as is None


def test_where_nothing_is_left_no_empty_vault_takes_the_place(folder: Path, thread: ThreadPoolExecutor) -> None:
    subject = subject_of(folder, thread)
    (folder / "vault.db").unlink()
    shutil.rmtree(folder / "notes")
    with pytest.raises(VaultQuarantined) as refused:
        run_salvage(subject)
    assert refused.value.details["reason"] == "missing"
    assert not (folder / "vault.db").exists()


def test_what_was_kept_before_is_not_taken_for_what_is_kept_now(folder: Path, thread: ThreadPoolExecutor) -> None:
    """Two salvages at one time of the clock."""
    path, kept = folder / "vault.db", []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ops.salvage.salvaging.clock.now", lambda: "2026-11-26T01:00:00.000Z")
        for _time in range(2):
            # What stood on the same page as the first is gone with it.
            texts = (b"memory %d of the harbour" % number for number in (42, 7, 20, 30, 55))
            damaged = zero_pages(path, next(text for text in texts if text in path.read_bytes()))
            kept.append(Path(run_salvage(subject_of(folder, thread)).kept_as or ""))
            assert kept[-1].read_bytes() == damaged
    assert len(set(kept)) == 2


def test_without_second_names_a_log_that_was_taken_away_is_found_again(
    folder: Path, thread: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject, path = subject_of(folder, thread), folder / "vault.db"
    with closing(sqlite.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA wal_autocheckpoint=0")
        raw.execute("INSERT INTO note_edits VALUES ('only in the log', 1, '2026-01-01T00:00:00Z')")
        log, data = (folder / "vault.db-wal").read_bytes(), path.read_bytes()
    path.write_bytes(data)
    (folder / "vault.db-wal").write_bytes(log)
    zero_pages(path)

    def refuse(*_: object) -> None:
        raise PermissionError(1, "no links here")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(exchange.os, "link", refuse)
    with monkeypatch.context() as patch:
        patch.setattr(exchange, "tighten_permissions", lambda *_: None)
        patch.setattr(exchange.snapshot, "remove", die)
        with pytest.raises(KeyboardInterrupt):
            run_salvage(subject)
    assert not (folder / "vault.db-wal").exists()
    run_salvage(subject)
    assert any(row[0] == "only in the log" for row in read_rows(path)["note_edits"].values())


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE memories SET content = CAST(x'ff41' AS TEXT) WHERE seq = 12",
        "UPDATE passages SET body = CAST(x'ff41' AS TEXT) WHERE seq = 12",
        "UPDATE memories SET content = content || '!' WHERE seq = 12",
        "UPDATE memories SET tags = '{' WHERE seq = 12",
        "UPDATE documents SET metadata = '{' WHERE seq = 1",
    ],
)
def test_what_cannot_be_read_or_differs_from_its_hash_is_not_sound(
    folder: Path, thread: ThreadPoolExecutor, tmp_path: Path, change: str
) -> None:
    backup, path = tmp_path / "yesterday.db", folder / "vault.db"
    shutil.copyfile(path, backup)
    truth = read_rows(path)
    with closing(sqlite.connect(path, isolation_level=None)) as raw:
        for (trigger,) in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            raw.execute(f"DROP TRIGGER {trigger}")  # as a flipped bit would: nothing else is written
        raw.execute(change)
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    report = run_salvage(subject_of(folder, thread), (backup,))
    assert not report.sound
    new = read_rows(path)
    assert {table: new[table] for table in ("memories", "documents", "document_parts")} == {
        table: truth[table] for table in ("memories", "documents", "document_parts")
    }
    assert run_salvage(subject_of(folder, thread)).sound
