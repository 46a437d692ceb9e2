"""Snapshots of the vector index: a good one answers the same, any other is refused with its reason.

Covers vaults.index.engine.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.work import examples
from vaults.errors import StorageFull
from vaults.files import atomic
from vaults.index import snapshot
from vaults.index.engine import faiss
from vaults.index.snapshot import SnapshotInvalid, SnapshotStamp
from vaults.index.vector_index import VectorChange, VectorIndex
from vaults.index.vector_layers import merge_layers
from vaults.settings import IndexSettings

SMALL = IndexSettings(flat_limit=1000)
STAMP = SnapshotStamp("vault-1", "model-1", 96, 0)


def unit(count: int, seed: int) -> np.ndarray:
    matrix = np.random.default_rng(seed).standard_normal((count, 96)).astype(np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def filled(count: int, *, rebuilt: bool) -> VectorIndex:
    index = VectorIndex(96, SMALL)
    index.apply([VectorChange(passage, row.tobytes()) for passage, row in enumerate(unit(count, 1))], 40)
    assert index.rebuild() == rebuilt
    index.apply([VectorChange(5, None), VectorChange(6, None), VectorChange(7, unit(1, 2).tobytes())], 41)
    index.apply([VectorChange(count + 9, unit(1, 3).tobytes())], 42)
    return index


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "vectors.idx"
    filled(60, rebuilt=False).save(path, STAMP)
    return path


def reason(path: Path, expected: SnapshotStamp = STAMP) -> str:
    with pytest.raises(SnapshotInvalid) as caught:
        VectorIndex.load(path, expected, SMALL)
    return caught.value.reason


@pytest.mark.parametrize(("count", "rebuilt"), [(0, False), (300, False), (2500, True)])
def test_a_loaded_index_answers_as_the_saved_one_and_goes_on(tmp_path: Path, count: int, rebuilt: bool) -> None:
    path, index = tmp_path / "vectors.idx", filled(count, rebuilt=rebuilt)
    index.save(path, replace(STAMP, seen=7))
    assert path.stat().st_mode & 0o777 == 0o600
    loaded = VectorIndex.load(path, STAMP, SMALL)
    assert loaded.seen == index.seen == 42
    assert len(loaded) == len(index)
    allow = np.arange(0, 3000, 3)
    for query in unit(20, 4):
        assert loaded.search(query, 10) == index.search(query, 10)
        assert loaded.search(query, 10, allow) == index.search(query, 10, allow)
    more = [VectorChange(count + 100 + at, row.tobytes()) for at, row in enumerate(unit(1200, 5))]
    for each in (index, loaded):
        each.apply(more, 43)
        assert each.rebuild()
    assert loaded.search(unit(1, 6)[0], 10) == index.search(unit(1, 6)[0], 10)


@pytest.mark.parametrize("rebuilt", [False, True])
def test_nothing_of_a_removed_vector_is_saved(tmp_path: Path, rebuilt: bool) -> None:
    path, index = tmp_path / "vectors.idx", filled(2500 if rebuilt else 300, rebuilt=rebuilt)
    removed, kept = unit(300, 1)[5], unit(300, 1)[8]
    index.save(path, STAMP)
    raw = path.read_bytes()
    assert removed.tobytes() not in raw
    assert removed.astype(np.float16).tobytes() not in raw
    assert (kept.astype(np.float16) if rebuilt else kept).tobytes() in raw
    if rebuilt:
        codes = index._sealed[0].rows._codes  # type: ignore[attr-defined]
        packed, packer = faiss().AlignedTable_to_array(codes.codes), codes.get_CodePacker()
        held = [packer.unpack_1(packed[: packer.block_size][None], row) for row in (5, 8)]
        assert not held[0].any()
        assert held[1].any()


def test_a_vector_removed_during_a_rebuild_is_not_saved_after_it(tmp_path: Path) -> None:
    index = VectorIndex(96, SMALL)
    index.apply([VectorChange(passage, row.tobytes()) for passage, row in enumerate(unit(2500, 1))], 1)
    frozen = index._seal()
    merged = merge_layers(frozen, 96, SMALL.flat_limit, SMALL.refine_factor, lambda: False)
    index.apply([VectorChange(5, None)], 2)
    assert merged is not None
    index._swap(frozen, merged)
    index.save(tmp_path / "vectors.idx", STAMP)
    assert unit(300, 1)[5].astype(np.float16).tobytes() not in (tmp_path / "vectors.idx").read_bytes()


def test_a_save_during_a_rebuild_is_whole(tmp_path: Path) -> None:
    index = filled(2500, rebuilt=True)
    query = unit(1, 9)[0]
    before = index.search(query, 50)
    index._seal()
    index.apply([VectorChange(before[0][0], None)], 43)
    index.save(tmp_path / "vectors.idx", STAMP)
    loaded = VectorIndex.load(tmp_path / "vectors.idx", STAMP, SMALL)
    assert [passage for passage, _ in loaded.search(query, 49)] == [passage for passage, _ in before[1:]]


def test_every_truncation_is_noticed(saved: Path, tmp_path: Path) -> None:
    raw, path = saved.read_bytes(), tmp_path / "vectors.idx"
    for size in {0, 1, 7, 8, 23, 24, 55, 56, 57, 200, 320, len(raw) // 2, len(raw) - 33, len(raw) - 32, len(raw) - 1}:
        path.write_bytes(raw[:size])
        assert reason(path) == "truncated", size


@given(st.data())
@settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
def test_every_flipped_bit_is_noticed(saved: Path, tmp_path: Path, data: st.DataObject) -> None:
    raw, path = bytearray(saved.read_bytes()), tmp_path / "vectors.idx"
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(raw)
    assert reason(path) in {"checksum", "version", "truncated"}


def test_every_flipped_bit_of_the_header_is_noticed(saved: Path, tmp_path: Path) -> None:
    raw, path = saved.read_bytes(), tmp_path / "vectors.idx"
    for bit in range(200 * 8):
        flipped = bytearray(raw)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        assert reason(path) in {"checksum", "version", "truncated"}


def test_bytes_behind_the_end_are_noticed(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "vectors.idx").write_bytes(saved.read_bytes() + b"\0")
    assert reason(tmp_path / "vectors.idx") == "checksum"


@pytest.mark.parametrize(
    ("expected", "why"),
    [
        (replace(STAMP, vault_id="vault-2"), "vault"),
        (replace(STAMP, model="model-2"), "model"),
        (replace(STAMP, width=48), "width"),
    ],
)
def test_a_snapshot_of_something_else_is_refused(saved: Path, expected: SnapshotStamp, why: str) -> None:
    assert reason(saved, expected) == why
    assert VectorIndex.load(saved, replace(STAMP, seen=10**9), SMALL).seen == 42


def test_what_is_not_a_readable_file_is_missing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    for name in ("nothing", "fifo", "folder"):
        assert reason(tmp_path / name) == "missing"


def test_a_checksummed_file_with_senseless_contents_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "vectors.idx"
    for arrays in (
        {},
        {"ids": np.arange(3)},
        {"ids": np.arange(3), "vectors": unit(2, 1)},
        {"ids": np.arange(3), "vectors": unit(3, 1).astype(np.float64)},
    ):
        snapshot.write(path, STAMP, arrays)
        assert reason(path) == "version"


@pytest.mark.parametrize("part", ["codes", "centroids", "halves", "ids", "live", "engine"])
def test_compressed_parts_that_do_not_fit_each_other_are_refused(tmp_path: Path, part: str) -> None:
    path = tmp_path / "vectors.idx"
    filled(2500, rebuilt=True).save(path, STAMP)
    _, arrays = snapshot.read(path, STAMP)
    snapshot.write(path, STAMP, arrays | {f"base.{part}": arrays[f"base.{part}"][:-1]})
    assert reason(path) == "version"


def test_a_kill_between_writing_and_renaming_keeps_the_old_snapshot(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "vectors.idx"
    shutil.copy(saved, path)
    script = (
        "import os, signal, sys, numpy; from pathlib import Path; from vaults.index.snapshot import SnapshotStamp\n"
        "from vaults.index.vector_index import VectorIndex; from vaults.settings import IndexSettings\n"
        "Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "VectorIndex(96, IndexSettings()).save(Path(sys.argv[1]), SnapshotStamp('vault-1', 'model-1', 96, 0))"
    )
    done = subprocess.run([sys.executable, "-c", script, path], check=False, cwd=Path(atomic.__file__).parents[2])
    assert done.returncode == -9
    assert len(list(tmp_path.iterdir())) == 2
    loaded = VectorIndex.load(path, STAMP, SMALL)
    assert len(loaded) == 59
    loaded.save(path, STAMP)
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_keeps_the_old_snapshot(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "vectors.idx"
    shutil.copy(saved, path)
    left = 5000

    def write(descriptor: int, view: memoryview) -> int:
        nonlocal left
        if left <= 0:
            raise OSError(errno.ENOSPC, "full")
        left -= len(view)
        return len(view)

    monkeypatch.setattr(atomic.os, "write", write)
    with pytest.raises(StorageFull):
        filled(100, rebuilt=False).save(path, STAMP)
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == [path]
    assert len(VectorIndex.load(path, STAMP, SMALL)) == 59
