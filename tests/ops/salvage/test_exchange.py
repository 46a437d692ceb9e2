"""The new database takes the place of the damaged one, which is kept; a kill in between leaves a vault to salvage.

Covers ops.salvage.salvaging, ops.salvage.backup_rows, ops.salvage.whole_sources, ops.salvage.known_vectors.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from ops.salvage import exchange
from ops.salvage.salvage_report import SalvageReport
from ops.salvage.salvaging import SalvageSubject, salvage
from tests import harmed_vault
from tests.harmed_vault import NAME, PAGE, Rows, read_rows
from vaults.db.engine import sqlite
from vaults.errors import InvalidArgument, VaultQuarantined, VaultUnavailable
from vaults.registry import VaultEntry
from vaults.settings import IndexSettings, StorageSettings
from vaults.vault_gate import VaultGate


@pytest.fixture(scope="module")
def whole() -> Path:
    return harmed_vault.whole_vault()


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "vault"))


@pytest.fixture(scope="module")
def thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def _subject(folder: Path, thread: ThreadPoolExecutor, vault_id: str | None = None) -> SalvageSubject:
    if vault_id is None:
        for path in (folder / "vault.db", *folder.glob("vault.db.*")):
            vault_id = vault_id or _vault_id(path)
    entry = VaultEntry(NAME, vault_id or "", None, "active", "agent", "auto", "2026-01-01T00:00:00Z")
    return SalvageSubject(entry, folder, StorageSettings(), IndexSettings().passage_tokens, thread)


def _vault_id(path: Path) -> str | None:
    try:
        with closing(sqlite.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as raw:
            return str(raw.execute("SELECT value FROM vault_info WHERE key = 'vault_id'").fetchone()[0])
    except sqlite.Error:
        return None


def _harm(path: Path, text: bytes) -> None:
    """Zero every page with this text."""
    data = bytearray(path.read_bytes())
    for page in range(0, len(data), PAGE):
        if text in data[page : page + PAGE]:
            data[page : page + PAGE] = bytes(PAGE)
    path.write_bytes(data)


def _run(subject: SalvageSubject, backups: tuple[Path, ...] = (), *, dry_run: bool = False) -> SalvageReport:
    return asyncio.run(salvage(subject, backups, dry_run=dry_run))


def test_a_sound_database_is_left_as_it_is(folder: Path, thread: ThreadPoolExecutor) -> None:
    before = (folder / "vault.db").read_bytes()
    assert _run(_subject(folder, thread)).sound
    assert (folder / "vault.db").read_bytes() == before


def test_what_is_lost_is_told_and_what_is_left_is_whole(folder: Path, whole: Path, thread: ThreadPoolExecutor) -> None:
    subject = _subject(folder, thread)
    _harm(folder / "vault.db", b"memory 42 of the harbour")
    damaged = (folder / "vault.db").read_bytes()
    told = _run(subject, dry_run=True)
    assert (folder / "vault.db").read_bytes() == damaged
    report = _run(subject)
    assert not report.whole
    assert report.of("memories").lost == told.of("memories").lost > 0
    assert Path(report.kept_as or "").read_bytes() == damaged
    assert not list(folder.glob(f"{exchange.SCRATCH_PREFIX}*"))
    truth, new = read_rows(whole / "vault.db"), read_rows(folder / "vault.db")
    assert new["memories"].items() < truth["memories"].items()
    assert len(truth["memories"]) - len(new["memories"]) == report.of("memories").lost
    _assert_sound(folder / "vault.db", new)


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
    backup, subject = tmp_path / "yesterday.db", _subject(folder, thread)
    shutil.copyfile(folder / "vault.db", backup)
    with closing(sqlite.connect(folder / "vault.db", isolation_level=None)) as raw:
        (gone,) = raw.execute("SELECT seq FROM memories WHERE content LIKE 'memory 7 of%'").fetchone()
        raw.execute("PRAGMA wal_autocheckpoint=1")
        raw.execute("DELETE FROM passages WHERE kind = 'memory' AND item = ?", (gone,))
        raw.execute("DELETE FROM memories WHERE seq = ?", (gone,))
    _harm(folder / "vault.db", b"memory 42 of the harbour")
    report = _run(subject, (backup,))
    truth = read_rows(whole / "vault.db")["memories"]
    del truth[gone]
    assert read_rows(folder / "vault.db")["memories"] == truth
    assert report.of("memories").from_backup > 0
    assert report.whole


def test_of_a_database_that_is_gone_the_backup_is_left(
    folder: Path, whole: Path, thread: ThreadPoolExecutor, tmp_path: Path
) -> None:
    backup, subject = tmp_path / "yesterday.db", _subject(folder, thread)
    (folder / "vault.db").rename(backup)
    report = _run(subject, (backup,))
    new, truth = read_rows(folder / "vault.db"), read_rows(whole / "vault.db")
    assert {table: rows for table, rows in new.items() if table != "vault_info"} == {
        table: rows for table, rows in truth.items() if table != "vault_info"
    }
    assert not report.whole, "nobody knows what came after the backup"


def test_a_log_that_was_never_moved_into_the_file_is_used(folder: Path, thread: ThreadPoolExecutor) -> None:
    subject = _subject(folder, thread)
    with closing(sqlite.connect(folder / "vault.db", isolation_level=None)) as raw:
        raw.execute("PRAGMA wal_autocheckpoint=0")
        raw.execute("INSERT INTO note_edits VALUES ('only in the log', 1, '2026-01-01T00:00:00Z')")
        log = (folder / "vault.db-wal").read_bytes()
        data = (folder / "vault.db").read_bytes()
    (folder / "vault.db").write_bytes(data)
    (folder / "vault.db-wal").write_bytes(log)
    _harm(folder / "vault.db", b"memory 42 of the harbour")
    report = _run(subject)
    assert any(row[0] == "only in the log" for row in read_rows(folder / "vault.db")["note_edits"].values())
    assert report.of("note_edits").from_log > 0
    assert not (folder / "vault.db-wal").exists() or not (folder / "vault.db-wal").stat().st_size
    assert Path(f"{report.kept_as}-wal").read_bytes() == log


@pytest.mark.parametrize("step", [1, 3, 4, 6, 8])
def test_a_kill_between_any_two_steps_leaves_a_vault_that_can_be_salvaged(
    folder: Path, whole: Path, thread: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Each step that changes a name or sees one to the disk is made to be the last."""
    subject, done = _subject(folder, thread), 0
    with closing(sqlite.connect(folder / "vault.db", isolation_level=None)) as raw:
        raw.execute("PRAGMA wal_autocheckpoint=0")
        raw.execute("INSERT INTO note_edits VALUES ('only in the log', 1, '2026-01-01T00:00:00Z')")
        log, data = (folder / "vault.db-wal").read_bytes(), (folder / "vault.db").read_bytes()
    (folder / "vault.db").write_bytes(data)
    (folder / "vault.db-wal").write_bytes(log)
    _harm(folder / "vault.db", b"memory 42 of the harbour")

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
            _run(subject)
        except KeyboardInterrupt:
            assert _run_after_kill(subject, monkeypatch)
    rows = read_rows(folder / "vault.db")
    assert any(row[0] == "only in the log" for row in rows["note_edits"].values())
    assert rows["memories"].items() <= read_rows(whole / "vault.db")["memories"].items()
    assert len(rows["memories"]) > 50


def _run_after_kill(subject: SalvageSubject, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.undo()
    return _run(subject) is not None


async def test_an_open_vault_is_not_salvaged_under_its_users(
    folder: Path, thread: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ops.salvage.salvaging.GATE_WAIT_S", 0.0)
    gate = VaultGate(folder)
    gate.enter()
    try:
        with pytest.raises(VaultUnavailable):
            await salvage(_subject(folder, thread))
    finally:
        gate.leave()


def test_another_vaults_files_are_refused(folder: Path, thread: ThreadPoolExecutor) -> None:
    _harm(folder / "vault.db", b"memory 42 of the harbour")
    with pytest.raises(VaultQuarantined) as refused:
        _run(_subject(folder, thread, "another"))
    assert refused.value.details["reason"] == "foreign"


def test_what_is_no_backup_is_refused(folder: Path, thread: ThreadPoolExecutor, tmp_path: Path) -> None:
    subject = _subject(folder, thread)
    _harm(folder / "vault.db", b"memory 42 of the harbour")
    (tmp_path / "letter").write_text("Dear all")
    with pytest.raises(InvalidArgument):
        _run(subject, (tmp_path / "letter",))
