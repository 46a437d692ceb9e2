"""What a note tool is held against: reading files and writing them atomically, and nothing else."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

TEMPORARY = ".bench-temporary"


def write_atomically(path: Path, data: bytes) -> None:
    """Temporary file in the same folder, fsync, rename, fsync of the folder."""
    temporary = path.with_name(TEMPORARY)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def time_rewrite(paths: Iterable[Path]) -> float:
    """Seconds to read each file whole and write the same bytes back."""
    began = time.perf_counter()
    for path in paths:
        write_atomically(path, path.read_bytes())
    return time.perf_counter() - began


def copy_files(source: Path, names: Sequence[str], target: Path) -> list[Path]:
    """Copies of files below ``source`` at the same places below ``target``, synced: a watched folder must not be
    the one a baseline writes in, and a later fsync must not pay for the copying."""
    made = []
    for name in names:
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, path)
        made.append(path)
    os.sync()
    return made
