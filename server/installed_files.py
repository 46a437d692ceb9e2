"""Whether this program's files are still those it was started from. An upgrade replaces them under a running server,
and what it imports only then would be of another version than what it runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).resolve().parents[1]

FOLDERS = ("server/ui", "server/oauth")
"""What is imported and read late: looked at file by file, which takes 0.4 ms."""

MARKS = ("auth/__init__.py", "ops/__init__.py", "server/__init__.py", "server/version.py", "vaults/__init__.py")
"""Of the rest, files that every installer replaces."""

Look: TypeAlias = Mapping[str, tuple[int, int, int]]
"""Of each file its inode, size and time of change: installers that link files keep the time, others the inode."""


def look_at_files(root: Path = ROOT) -> Look:
    """The files as they are now. One that is not there is left out."""
    found = {path: entry.stat() for folder in FOLDERS for path, entry in _files_of(root / folder)}
    found |= {mark: (root / mark).stat() for mark in MARKS if (root / mark).is_file()}
    return {path: (each.st_ino, each.st_size, each.st_mtime_ns) for path, each in found.items()}


def _files_of(folder: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    if not folder.is_dir():
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file():
                yield entry.path, entry
            elif entry.name != "__pycache__":  # written as modules are imported
                yield from _files_of(Path(entry.path))
