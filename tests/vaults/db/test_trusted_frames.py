"""A log is read past its damage, and nothing of it is believed that its checksums do not say."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import pytest

from vaults.db.engine import sqlite
from vaults.db.trusted_frames import read_trusted
from vaults.db.wal_frames import FRAME_HEADER_BYTES, HEADER_BYTES

PAGE = 4096
STEP = PAGE + FRAME_HEADER_BYTES


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("log") / "boats.db"
    with closing(sqlite.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("CREATE TABLE boats (name TEXT)")
        for at in range(40):
            raw.execute("INSERT INTO boats VALUES (?)", (f"boat {at} " * 60,))
        return Path(f"{path}-wal").read_bytes()


def test_the_newest_images_are_those_sqlite_sees(log: bytes, tmp_path: Path) -> None:
    path = tmp_path / "boats.db"
    path.write_bytes(b"")
    Path(f"{path}-wal").write_bytes(log)
    found = read_trusted(log)
    data = b"".join(found.images[page] for page in range(1, (found.page_count or 0) + 1))
    path.write_bytes(data[:18] + b"\x01\x01" + data[20:])  # without a log from now on
    Path(f"{path}-wal").unlink()
    with closing(sqlite.connect(path)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert raw.execute("SELECT COUNT(*) FROM boats").fetchone() == (40,)
    assert (found.damaged, found.stale) == (0, frozenset())


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_frame_costs_its_own_page_only(log: bytes, seed: int) -> None:
    chance, whole = random.Random(seed), read_trusted(log)
    frame = chance.randrange(whole.frames)
    at = HEADER_BYTES + frame * STEP + FRAME_HEADER_BYTES + chance.randrange(PAGE)
    harmed = bytearray(log)
    harmed[at] ^= 1 << chance.randrange(8)
    found = read_trusted(bytes(harmed))
    assert found.damaged == 1
    page = int.from_bytes(log[HEADER_BYTES + frame * STEP :][:4])
    assert all(found.images.get(each) == image for each, image in whole.images.items() if each != page)
    assert page in found.stale or found.images[page] == whole.images[page] or frame == whole.frames - 1


def test_what_was_not_committed_is_not_there(log: bytes) -> None:
    whole = read_trusted(log)
    commits = [
        at for at in range(whole.frames) if log[HEADER_BYTES + at * STEP + 4 : HEADER_BYTES + at * STEP + 8] != bytes(4)
    ]
    before_last = HEADER_BYTES + (commits[-2] + 1) * STEP
    cut = read_trusted(log[: before_last + STEP * (commits[-1] - commits[-2]) - 1])
    assert cut.frames == commits[-2] + 1


@pytest.mark.parametrize("data", [b"", b"short", bytes(5000), random.Random(1).randbytes(9000)])
def test_what_is_no_log_holds_nothing(data: bytes) -> None:
    assert read_trusted(data).images == {}


def test_frames_of_an_earlier_log_are_none_of_this_one(log: bytes) -> None:
    old = bytearray(log[HEADER_BYTES : HEADER_BYTES + STEP])
    old[8:16] = bytes(8)
    found = read_trusted(log + bytes(old))
    assert (found.damaged, found.frames) == (0, read_trusted(log).frames)
