"""A process that keeps a change log, killed: what the store has is a prefix with all it had taken, nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from ops.backup.folder_store import FolderStore
from ops.change_log.points import find_point
from ops.change_log.replay import materialise
from tests.conftest import TESTS
from tests.crash.change_log_work import VAULT
from vaults.db.engine import sqlite

pytestmark = pytest.mark.crash

KILLS = 8
OPERATIONS = 14


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "target").mkdir()
    return tmp_path


class Said:
    """What a process said until it ended."""

    def __init__(self, folder: Path, rows: int, dies_at: int = 0, kill_after: int | None = None) -> None:
        arguments = [sys.executable, "-m", "tests.crash.change_log_work", str(folder), str(rows), str(dies_at)]
        self.rows: list[tuple[int, float]] = []
        self.stored = 0
        """How many of these rows the store had taken."""
        answered: list[float] = []
        self.closed = False
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=TESTS.parent) as process:
            assert process.stdout is not None
            for line in process.stdout:
                word, *rest = line.split()
                self.closed = word == "closed"
                if word == "row":
                    self.rows.append((int(rest[0]), float(rest[1])))
                    answered.append(float(rest[2]))
                    self.stored = sum(each < float(rest[3]) for each in answered)
                if kill_after is not None and len(self.rows) >= kill_after:
                    process.kill()


def rows_of(path: Path) -> list[tuple[int, float]]:
    raw = sqlite.connect(path)
    try:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return list(raw.execute("SELECT n, at FROM t ORDER BY n"))
    finally:
        raw.close()


def restored(folder: Path) -> list[tuple[int, float]]:
    store, into = FolderStore(folder / "target"), folder / "restored.db"
    into.unlink(missing_ok=True)
    materialise(store, VAULT, into, find_point(store, VAULT))
    return rows_of(into)


def lines_in(folder: Path) -> int:
    return len([each for each in (folder / "target" / "vaults" / VAULT / "log").iterdir() if each.is_dir()])


def test_a_lost_disk_takes_what_was_committed_within_about_a_second(folder: Path) -> None:
    chance, acknowledged, losses = Random(3), list[tuple[int, float]](), list[float]()
    for _ in range(KILLS):
        said = Said(folder, 100_000, kill_after=chance.randrange(150, 700))
        before = len(acknowledged)
        acknowledged += said.rows
        found = restored(folder)
        # The last row may be committed and not said.
        assert found == acknowledged[: len(found)] or found[:-1] == acknowledged
        assert not said.stored or len(found) >= before + said.stored
        if before <= len(found) < len(acknowledged):  # else it had not yet stored what the one before it left
            losses.append(acknowledged[-1][1] - acknowledged[len(found)][1])
        acknowledged = _known_after_kill(folder, acknowledged)
    print(f"{KILLS} kills, {len(acknowledged)} rows; a lost disk would have taken at most {max(losses):.2f} s of them")
    # A kill right after SQLite let its log start over costs the line: the base of the next has what was not stored.
    assert lines_in(folder) <= KILLS // 2
    assert max(losses) < 30


def _known_after_kill(folder: Path, acknowledged: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """What the next process finds: all that was acknowledged, and the row that was committed and not said."""
    copy = folder / "copy.db"
    for end in ("", "-wal"):
        source = folder / f"v.db{end}"
        if source.exists():
            copy.with_name(f"copy.db{end}").write_bytes(source.read_bytes())
    found = rows_of(copy)
    for end in ("", "-wal", "-shm"):
        copy.with_name(f"copy.db{end}").unlink(missing_ok=True)
    assert found[: len(acknowledged)] == acknowledged
    return found


@pytest.mark.parametrize("dies_at", range(1, OPERATIONS + 1))
def test_a_kill_at_any_step_of_storing_leaves_a_log_that_goes_on(folder: Path, dies_at: int) -> None:
    first = Said(folder, 2000, dies_at=dies_at)
    assert not first.closed
    second = Said(folder, 60)
    assert second.closed
    found = restored(folder)
    assert found == rows_of(folder / "v.db")
    assert found[: len(first.rows)] == first.rows
    assert found[-60:] == second.rows
