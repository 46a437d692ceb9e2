"""Files of others are read without leaving a trace, and refused in plain words where they cannot be."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from tests.vaults.sources.sqlite_fixtures import make_database, see_folder
from vaults.errors import InvalidArgument
from vaults.sources import sqlite_file
from vaults.sources.sqlite_file import DamagedRows, SqliteFile, open_sqlite

SCHEMA = "CREATE TABLE boats (name TEXT, draught REAL)"


def boats(file: SqliteFile) -> list[str]:
    return [found[1]["name"] for found in file.rows("boats", ("name",)) if not isinstance(found, DamagedRows)]


def make_boats(path: Path, count: int = 3) -> Path:
    return make_database(path, SCHEMA, {"boats": [{"name": f"boat {n}", "draught": n} for n in range(count)]})


def test_a_file_nobody_uses_is_read_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file.shutil, "copyfile", None)
    path = make_boats(tmp_path / "a file? 100%#.db")
    before = see_folder(tmp_path)
    with open_sqlite(path) as file:
        assert see_folder(tmp_path) == before
        assert boats(file) == ["boat 0", "boat 1", "boat 2"]
        assert not file.has_changed()
    assert see_folder(tmp_path) == before


def test_a_file_in_use_is_read_with_what_is_in_its_journal(tmp_path: Path) -> None:
    path = make_boats(tmp_path / "boats.db")
    with sqlite3.connect(path) as writer:
        writer.execute("INSERT INTO boats VALUES ('new', 1)")
        writer.commit()
        assert (tmp_path / "boats.db-wal").stat().st_size
        before = see_folder(tmp_path)
        with open_sqlite(path) as file:
            assert see_folder(tmp_path) == before
            writer.execute("INSERT INTO boats VALUES ('later', 1)")
            assert boats(file) == ["boat 0", "boat 1", "boat 2", "new"]
        writer.rollback()
    writer.close()


def test_an_interrupted_change_of_a_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "boats.db"
    with sqlite3.connect(path) as writer:
        writer.executescript(f"{SCHEMA}; PRAGMA cache_size = 1; BEGIN; INSERT INTO boats VALUES ('kept', 1); COMMIT;")
        writer.execute("BEGIN")
        writer.execute("DELETE FROM boats")
        writer.executemany("INSERT INTO boats VALUES (?, 1)", [("x" * 5000,)] * 50)  # spilt to the file
        before = see_folder(tmp_path)
        assert "boats.db-journal" in before
        with open_sqlite(path) as file:
            assert boats(file) == ["kept"]
        assert see_folder(tmp_path) == before
        writer.rollback()
    writer.close()


def test_the_copy_is_private_and_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file.tempfile, "tempdir", str(tmp_path))
    path = make_boats(tmp_path / "vault" / "boats.db")
    (tmp_path / "vault" / "boats.db-wal").touch()
    with open_sqlite(path):
        (copy,) = tmp_path.glob("strongroom-import-*")
        assert copy.stat().st_mode & 0o077 == 0
    assert not copy.exists()


def test_a_file_that_never_comes_to_rest_is_said_to_be_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_boats(tmp_path / "boats.db")
    (tmp_path / "boats.db-wal").touch()
    copy = sqlite_file.shutil.copyfile

    def busy(source: Path, target: Path) -> None:
        copy(source, target)
        os.utime(path, ns=(1, path.stat().st_mtime_ns + 1))

    monkeypatch.setattr(sqlite_file.shutil, "copyfile", busy)
    monkeypatch.setattr(sqlite_file, "_COPY_WAIT_S", 0)
    with pytest.raises(InvalidArgument, match="locked: another program"), open_sqlite(path):
        pass


def test_a_change_during_the_reading_is_noticed(tmp_path: Path) -> None:
    path = make_boats(tmp_path / "boats.db")
    with open_sqlite(path) as file:
        os.utime(path, ns=(1, 1))
        assert file.has_changed()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"SQLite format 3\0", "is no SQLite file"),
        (b"# A note\n" * 100, "is no SQLite file"),
        (os.urandom(4096), "is no SQLite file, or an encrypted one"),
        (b"SQLite format 3\0" + bytes(4096), "is no SQLite file"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(content)
    with pytest.raises(InvalidArgument, match=reason), open_sqlite(path):
        pass


def test_what_is_not_there_or_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, reason in ((tmp_path / "none.db", "No such file"), (tmp_path, "no file"), (tmp_path / "pipe", "no file")):
        with pytest.raises(InvalidArgument, match=reason), open_sqlite(path):
            pass


def test_a_file_that_was_copied_by_half_is_refused(tmp_path: Path) -> None:
    path = make_boats(tmp_path / "boats.db", 2000)
    path.write_bytes(path.read_bytes()[:8192])
    with pytest.raises(InvalidArgument, match="is cut off: it has 8,192 of"), open_sqlite(path):
        pass


def test_a_damaged_schema_is_refused(tmp_path: Path) -> None:
    path = make_boats(tmp_path / "boats.db")
    data = bytearray(path.read_bytes())
    data[100:200] = os.urandom(100)
    path.write_bytes(data)
    with pytest.raises(InvalidArgument, match="is damaged"), open_sqlite(path):
        pass


def test_rows_around_a_damaged_page_are_read(tmp_path: Path) -> None:
    path = make_boats(tmp_path / "boats.db", 3000)
    data = bytearray(path.read_bytes())
    page = int.from_bytes(data[16:18])
    middle = len(data) // page // 2
    data[middle * page : middle * page + 200] = b"\xff" * 200
    path.write_bytes(data)
    with open_sqlite(path) as file:
        found = list(file.rows("boats", ("name",)))
    damaged = [each for each in found if isinstance(each, DamagedRows)]
    read = [each[0] for each in found if not isinstance(each, DamagedRows)]
    assert {each.reason for each in damaged} == {"is damaged"}
    assert damaged[0].after is not None
    assert read == sorted(set(read))
    assert len(damaged) == 1
    assert (read[0], read[-1]) == (1, 3000)
    lost = set(range(1, 3001)) - set(read)
    assert lost == set(range(min(lost), max(lost) + 1))
    assert min(lost) == damaged[0].after + 1


def test_a_value_that_is_too_large_does_not_stop_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "MAX_VALUE", 1 << 20)
    path = make_database(tmp_path / "boats.db", SCHEMA)
    with sqlite3.connect(path) as db:
        for name in ("small", "x" * (2 << 20), "y" * (2 << 20), "last"):
            db.execute("INSERT INTO boats VALUES (?, 1)", (name,))
        db.commit()
    db.close()
    with open_sqlite(path) as file:
        found = list(file.rows("boats", ("name",)))
    assert found == [
        (1, {"name": "small"}),
        DamagedRows(1, "has more than 1 MB in one place"),
        DamagedRows(2, "has more than 1 MB in one place"),
        (4, {"name": "last"}),
    ]


def test_columns_and_tables_that_are_not_there_are_empty(tmp_path: Path) -> None:
    with open_sqlite(make_boats(tmp_path / "boats.db", 1)) as file:
        assert list(file.rows("boats", ("name", "flag"))) == [(1, {"name": "boat 0", "flag": None})]
        assert list(file.rows("harbours", ("name",))) == []
        assert (file.has("boats", "name"), file.has("boats", "flag"), file.has("harbours")) == (True, False, False)
        assert (file.count("boats", "harbours"), file.count_filled("boats", "flag")) == (1, 0)


def test_texts_come_without_nul_and_broken_bytes(tmp_path: Path) -> None:
    path = make_database(tmp_path / "boats.db", SCHEMA)
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO boats (name) VALUES (CAST(x'61006280C3BC' AS TEXT))")
        db.commit()
    db.close()
    with open_sqlite(path) as file:
        assert boats(file) == ["ab\ufffdü"]
