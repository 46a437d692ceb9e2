"""Atomic writes: old or new, never between; nothing left behind; full disks have a name."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vaults.errors import ReadOnly, StorageFull
from vaults.files import atomic
from vaults.files.atomic import sweep_temporaries, write_atomic


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_replaces_the_whole_file_with_the_asked_mode(tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    path.write_bytes(b"old and longer")
    write_atomic(path, b"new", mode=0o640)
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert names(tmp_path) == ["note.md"]


def test_buffers_of_any_item_size_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "joined"
    write_atomic(path, iter([b"a", bytearray(b"b"), memoryview(b"cdef").cast("H"), b""]))
    assert path.read_bytes() == b"abcdef"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_producer_that_fails_leaves_the_old_file_and_no_temporary(tmp_path: Path) -> None:
    path = tmp_path / "note"
    path.write_bytes(b"old")

    def halves() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError("gone")

    with pytest.raises(RuntimeError):
        write_atomic(path, halves())
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["note"]


@pytest.mark.parametrize(
    ("code", "error"), [(errno.ENOSPC, StorageFull), (errno.EDQUOT, StorageFull), (errno.EROFS, ReadOnly)]
)
@pytest.mark.parametrize("call", ["write", "fsync"])
def test_disk_failures_are_typed_and_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, error: type[Exception], call: str
) -> None:
    path = tmp_path / "note"
    path.write_bytes(b"old")

    def refuse(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(atomic.os, call, refuse)
    with pytest.raises(error):
        write_atomic(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["note"]


def test_a_disk_that_is_really_full_is_storage_full() -> None:
    def write() -> None:
        with Path("/dev/full").open("wb", buffering=0) as full, atomic._translate_os_errors():
            atomic.write_all(full.fileno(), memoryview(b"x"))

    with pytest.raises(StorageFull):
        write()


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(atomic.os, "write", lambda descriptor, view: real(descriptor, view[:3]))
    write_atomic(tmp_path / "note", b"0123456789")
    monkeypatch.undo()
    assert (tmp_path / "note").read_bytes() == b"0123456789"


def test_file_is_synced_before_the_rename_and_the_folder_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    real_sync, real_replace = os.fsync, Path.replace

    def sync(descriptor: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        real_sync(descriptor)

    def replace(self: Path, target: Path) -> Path:
        steps.append("rename")
        return real_replace(self, target)

    monkeypatch.setattr(atomic.os, "fsync", sync)
    monkeypatch.setattr(Path, "replace", replace)
    write_atomic(tmp_path / "note", b"new")
    assert steps == ["file", "rename", "folder"]


def test_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"theirs")
    link = tmp_path / "link"
    link.symlink_to(outside)
    write_atomic(link, b"ours")
    assert outside.read_bytes() == b"theirs"
    assert not link.is_symlink()


def test_sweep_removes_what_a_killed_writer_left_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "index"
    script = (
        "import os, signal, sys; from pathlib import Path; from vaults.files.atomic import write_atomic\n"
        "def data():\n    yield b'half'\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_atomic(Path(sys.argv[1]), data())"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=False, cwd=Path(atomic.__file__).parents[2])
    (left,) = names(tmp_path)
    others = [".index.tmp.keep", ".other.abc.tmp", "index"]
    for name in others:
        (tmp_path / name).write_bytes(b"")
    (tmp_path / ".index.link.tmp").symlink_to(tmp_path / "index")
    assert sweep_temporaries(path) == 1
    assert left not in names(tmp_path)
    assert set(others) | {".index.link.tmp"} == set(names(tmp_path))


def test_sweep_spares_a_writer_at_work(tmp_path: Path) -> None:
    path = tmp_path / "index"

    def data() -> Iterator[bytes]:
        yield b"first"
        assert sweep_temporaries(path) == 0
        yield b" second"

    write_atomic(path, data())
    assert path.read_bytes() == b"first second"
