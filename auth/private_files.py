"""Small files with secrets, in a folder only this user may enter: made whole or not at all, never written over, and
nothing of them stays on the disk once they are replaced or removed.

A file others may read is made private again rather than refused: whatever was copied is copied either way, a server
that will not start helps nobody, and a restored backup often has such modes.

Where several servers are one installation, a folder is kept elsewhere, and what lies here is a view of it: whoever
keeps it is told first.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from vaults.files.atomic import sync_folder

LONGEST_WRITE_S = 60.0
"""Seconds after which a file that is being made is a leftover."""

_ASIDE = ".new-"


class FileKeeper(Protocol):
    """Whoever keeps the files of a folder for all servers, and lays them out here. Blocking."""

    def publish(self, path: Path, data: bytes) -> None:
        """Make a file. Raises ``FileExistsError`` where there is one, which lies here by then."""

    def replace(self, path: Path, data: bytes) -> None:
        """Raises ``FileNotFoundError`` for one that is gone."""

    def remove(self, path: Path) -> None:
        """Nothing happens if it is gone."""


_keepers: dict[Path, FileKeeper] = {}
"""By folder. One for the process: dozens of places open a secret, and none of them should know where it is kept."""


@contextmanager
def kept_by(folder: Path, keeper: FileKeeper) -> Iterator[None]:
    """Until the block ends, files of the folder are written through ``keeper``."""
    place = folder.resolve()
    before = _keepers.get(place)
    _keepers[place] = keeper
    try:
        yield
    finally:
        if before is None:
            del _keepers[place]
        else:
            _keepers[place] = before


def _keeper_of(folder: Path) -> FileKeeper | None:
    return _keepers.get(folder.resolve()) if _keepers else None


def make_private_folder(folder: Path) -> None:
    """Make the folder, and no other's business."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        folder.chmod(0o700)


def make_private(path: Path) -> bool:
    """Take a file's mode back to its owner alone; whether it had another. Raises ``OSError`` where that cannot be."""
    if not path.stat().st_mode & 0o077:
        return False
    path.chmod(0o600)
    return True


def publish(folder: Path, name: str, data: bytes) -> None:
    """Make a file, whoever keeps it. Of two processes one makes it, and the other gets ``FileExistsError``."""
    keeper = _keeper_of(folder)
    if keeper is None:
        publish_here(folder, name, data)
    else:
        keeper.publish(folder / name, data)


def publish_here(folder: Path, name: str, data: bytes) -> None:
    """Make a file on this disk. It is written under another name and then linked."""
    aside = folder / f"{_ASIDE}{secrets.token_hex(8)}"
    try:
        _write_aside(aside, data)
        (folder / name).hardlink_to(aside)
    finally:
        aside.unlink(missing_ok=True)
    sync_folder(folder)


def replace(path: Path, data: bytes) -> None:
    """Put ``data`` in place of a file's content, whoever keeps it."""
    keeper = _keeper_of(path.parent)
    if keeper is None:
        replace_here(path, data)
    else:
        keeper.replace(path, data)


def replace_here(path: Path, data: bytes) -> None:
    """Put ``data`` in place of a file's content, of which nothing stays on the disk."""
    aside = path.with_name(f"{_ASIDE}{secrets.token_hex(8)}")
    try:
        _write_aside(aside, data)
        before = os.open(path, os.O_WRONLY)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    sync_folder(path.parent)
    _overwrite(before)


def remove(path: Path) -> None:
    """Remove a file, whoever keeps it; nothing happens if it is gone."""
    keeper = _keeper_of(path.parent)
    if keeper is None:
        remove_here(path)
    else:
        keeper.remove(path)


def remove_here(path: Path) -> None:
    """Remove a file, so that nothing of it stays on the disk; nothing happens if it is gone."""
    with suppress(FileNotFoundError):  # another process was faster
        before = os.open(path, os.O_WRONLY)
        path.unlink(missing_ok=True)
        _overwrite(before)
        sync_folder(path.parent)


def sweep(folder: Path) -> None:
    """Remove what a process that was killed while it made a file has left: the secret may lie in it in the clear."""
    for aside in folder.glob(f"{_ASIDE}*"):
        with suppress(OSError):  # the folder cannot be written, or another process does the same
            if aside.stat().st_mtime < time.time() - LONGEST_WRITE_S:
                remove_here(aside)


def _write_aside(aside: Path, data: bytes) -> None:
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _overwrite(descriptor: int) -> None:
    """Write over a whole small file that has lost its name, and close it. One that has another name elsewhere, as in a
    backup of linked files, or in use, is not ours to destroy."""
    try:
        found = os.fstat(descriptor)
        if not found.st_nlink:
            os.write(descriptor, bytes(found.st_size))
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
