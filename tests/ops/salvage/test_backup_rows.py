"""Rows of a damaged database and of a backup are merged: the newest version wins, and what was deleted stays so.

Covers ops.salvage.row_versions, ops.salvage.source_merge.
"""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ops.salvage.row_versions import compare_numbers, compare_times
from tests.harmed_vault import PAGE, read_rows, zero_pages
from tests.ops.salvage.salvages import changing, run_salvage, subject_of
from vaults.db.engine import sqlite

TIER, VERSION = "UPDATE memories SET tier = 'cold' WHERE seq = 12", "UPDATE memories SET version = version + 1"


def _memory(path: Path, seq: int) -> dict[str, Any]:
    with sqlite.connect(f"file:{path}?mode=ro", uri=True) as raw:
        raw.row_factory = sqlite.Row
        found = dict(raw.execute("SELECT * FROM memories WHERE seq = ?", (seq,)).fetchone())
    raw.close()
    return found


def test_a_version_that_a_page_of_an_earlier_time_yields_gives_way(
    folder: Path, thread: ThreadPoolExecutor, tmp_path: Path
) -> None:
    """The disk lost the write of one page; a backup was made of what it should have been."""
    backup, path = tmp_path / "yesterday.db", folder / "vault.db"
    shutil.copyfile(path, backup)
    with changing(backup) as raw:
        raw.execute(TIER)
        raw.execute(f"{VERSION} WHERE seq = 12")
    zero_pages(path)
    report = run_salvage(subject_of(folder, thread), (backup,))
    assert _memory(path, 12)["tier"] == "cold"
    assert any(line.startswith("memories 12: yesterday.db has a newer state") for line in report.conflicts)


def test_a_version_that_is_newer_than_the_backup_stays(
    folder: Path, thread: ThreadPoolExecutor, tmp_path: Path
) -> None:
    backup, path = tmp_path / "yesterday.db", folder / "vault.db"
    shutil.copyfile(path, backup)
    with changing(path) as raw:
        raw.execute(TIER)
        raw.execute(f"{VERSION} WHERE seq = 12")
    zero_pages(path)
    report = run_salvage(subject_of(folder, thread), (backup,))
    assert _memory(path, 12)["tier"] == "cold"
    assert not report.conflicts
    assert report.of("memories").from_backup > 0


def test_rows_of_a_backup_that_is_not_of_the_last_change_may_be_older(
    folder: Path, thread: ThreadPoolExecutor, tmp_path: Path
) -> None:
    backup, path = tmp_path / "yesterday.db", folder / "vault.db"
    shutil.copyfile(path, backup)
    with changing(path) as raw:
        raw.execute("INSERT INTO note_edits VALUES ('today.md', 1, '2026-01-01T00:00:00Z')")
    zero_pages(path)
    report = run_salvage(subject_of(folder, thread), (backup,))
    told = report.of("memories")
    assert told.older == told.from_backup > 0
    assert (told.lost, report.whole) == (0, False)


def test_a_row_that_an_index_names_and_its_page_does_not_hold_comes_back(
    folder: Path, thread: ThreadPoolExecutor, tmp_path: Path
) -> None:
    """A page of an earlier time lies where the row should be."""
    backup, path = tmp_path / "yesterday.db", folder / "vault.db"
    earlier = bytearray(path.read_bytes())
    with changing(path) as raw:
        raw.execute("INSERT INTO note_edits VALUES ('lost.md', 1, '2026-01-01T00:00:00Z')")
        (root,) = raw.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'note_edits'").fetchone()
    shutil.copyfile(path, backup)
    data = bytearray(path.read_bytes())
    place = slice((root - 1) * PAGE, root * PAGE)
    data[place] = earlier[place]
    path.write_bytes(data)
    truth = read_rows(backup)["note_edits"]
    told = run_salvage(subject_of(folder, thread), dry_run=True)
    assert told.of("note_edits").lost == 1
    run_salvage(subject_of(folder, thread), (backup,))
    assert read_rows(path)["note_edits"] == truth


def test_what_a_newer_backup_lacks_no_older_one_brings_back(
    folder: Path, thread: ThreadPoolExecutor, tmp_path: Path
) -> None:
    """The database is gone, so nothing but the newer backup says that a memory was deleted."""
    newer, older, subject = tmp_path / "newer.db", tmp_path / "older.db", subject_of(folder, thread)
    shutil.copyfile(folder / "vault.db", older)
    (folder / "vault.db").rename(newer)
    with changing(newer) as raw:
        raw.execute("DELETE FROM memories WHERE seq = 12")
    report = run_salvage(subject, (newer, older))
    assert 12 not in read_rows(folder / "vault.db")["memories"]
    assert [(each.name, each.used) for each in report.sources[1:3]] == [("newer.db", True), ("older.db", False)]


def test_a_memory_on_a_harmed_page_says_what_nothing_proves_unless_a_backup_does(
    folder: Path, thread: ThreadPoolExecutor, tmp_path: Path
) -> None:
    """Its text matches its hash; who stored it is not in that hash."""
    backup, path = tmp_path / "yesterday.db", folder / "vault.db"
    shutil.copyfile(path, backup)
    stored_by = _memory(path, 12)["stored_by"]
    data = bytearray(path.read_bytes())
    at = data.index(_memory(path, 12)["content"].encode())
    page = at // PAGE * PAGE
    harmed = data.index(stored_by.encode(), at, page + PAGE)
    data[harmed] ^= 1
    data[page + 7] ^= 1  # and the count of loose bytes is wrong: the page shows damage
    path.write_bytes(data)
    alone = run_salvage(subject_of(folder, thread), dry_run=True).of("memories")
    assert alone.unproven > 0
    assert not alone.is_whole
    report = run_salvage(subject_of(folder, thread), (backup,))
    assert _memory(path, 12)["stored_by"] == stored_by
    assert report.of("memories").unproven == 0


def test_the_report_says_what_kinds_of_rows_are_proven_by_what(folder: Path, thread: ThreadPoolExecutor) -> None:
    zero_pages(folder / "vault.db")
    report = run_salvage(subject_of(folder, thread), dry_run=True)
    assert {each.table: each.proof for each in report.tables if each.proof != "page"} == {
        "memories": "content",
        "documents": "content",
        "document_parts": "hash",
        "note_versions": "hash",
    }
    lines = "\n".join(report.to_lines())
    assert "proven by a hash: document_parts, note_versions" in lines
    assert "believed by their page alone" in lines


NAMES = ("id", "version", "updated_at")


@pytest.mark.parametrize(
    ("one", "other", "numbers", "times"),
    [
        (("a", 2, "2026"), ("a", 1, "2027"), 1, -1),
        (("a", 1, "2026"), ("a", 1, None), 0, 1),
        (("a", 1, None), ("a", 1, "2026"), 0, -1),
        (("a", 1, "2026"), ("b", 1, "2026"), 0, 0),
    ],
)
def test_numbers_and_times_tell_which_state_is_newer(
    one: tuple[object, ...], other: tuple[object, ...], numbers: int, times: int
) -> None:
    assert compare_numbers(NAMES, one, other) == numbers
    assert compare_times(NAMES, one, other) == times
