"""A copy holds one moment of a database, whatever is written meanwhile, and goes when it is done with."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from vaults.db import private_copy as copies
from vaults.db.connection import open_raw
from vaults.db.engine import sqlite
from vaults.db.private_copy import PREFIX, private_copy
from vaults.errors import Cancelled
from vaults.settings import StorageSettings


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with closing(open_raw(tmp_path / "vault.db", StorageSettings(), writer=True)) as raw:
        raw.execute("CREATE TABLE boats (name TEXT)")
        raw.executemany("INSERT INTO boats VALUES (?)", [(f"boat {at} " * 500,) for at in range(2_000)])
    return tmp_path / "vault.db"


def _count(path: Path) -> int:
    with closing(sqlite.connect(path)) as raw:
        return int(raw.execute("SELECT COUNT(*) FROM boats").fetchone()[0])


def test_what_is_written_meanwhile_is_not_in_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(open_raw(path, StorageSettings(), writer=True)) as writer:

        def write(_: float) -> None:
            writer.execute("INSERT INTO boats VALUES ('late')")

        monkeypatch.setattr(copies.time, "sleep", write)
        with private_copy(path, StorageSettings()) as copy:
            assert copy is not None
            assert _count(copy) == 2_000
            assert copy.parent.stat().st_mode & 0o077 == 0
    assert _count(path) > 2_000
    assert not list(path.parent.glob(f"{PREFIX}*"))


class _Usage(NamedTuple):
    free: int


def test_without_room_there_is_none(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies.shutil, "disk_usage", lambda _: _Usage(path.stat().st_size))
    with private_copy(path, StorageSettings()) as copy:
        assert copy is None


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_has_stays(path: Path) -> None:
    left = path.parent / f"{PREFIX}0123"
    left.mkdir()
    (left / "vault.db").write_bytes(b"half")
    path.with_name(f"{left.name}.lock").touch()
    with private_copy(path, StorageSettings()) as one, private_copy(path, StorageSettings()) as other:
        assert one is not None
        os.utime(one.parent, (0, 0))
        assert other is not None
        assert _count(one) == _count(other)
        assert not left.exists()
    assert not list(path.parent.glob(f"{PREFIX}*"))


def test_a_copy_that_is_not_wanted_any_more_ends_early(path: Path) -> None:
    with pytest.raises(Cancelled), private_copy(path, StorageSettings(), lambda: True):
        pass
    assert not list(path.parent.glob(f"{PREFIX}*"))
