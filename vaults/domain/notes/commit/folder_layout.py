"""The folder of notes from the vault's own rows, where these are the truth: in a cluster, when a vault is taken.

The folder is made beside the one there is and takes its place when it is whole, so that a kill at any point leaves a
state that is laid out right the next time. Each file gets the time its row has, by which the index knows it, and is
not read again. Nothing is synced: after a crash of the machine it is laid out anew.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from vaults.db.private_copy import read_apart
from vaults.db.sql import Reader
from vaults.domain.notes.commit import note_files
from vaults.domain.notes.commit.note_files import NoteFile
from vaults.errors import InvalidArgument, VaultQuarantined
from vaults.files.atomic import write_all
from vaults.files.folders import path_segments
from vaults.files.permissions import FOLDER_MODE
from vaults.files.scratch_folders import scratch_folder
from vaults.settings import StorageSettings

PREFIX = ".laying-out-"

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class LaidOutNotes:
    """How much was laid out."""

    files: int
    bytes: int


def lay_out_notes(database: Path, root: Path, settings: StorageSettings) -> LaidOutNotes:
    """``lay_out_from`` of a database that nobody has open. Blocking."""
    return read_apart(database, settings, partial(lay_out_from, root))


def lay_out_from(root: Path, tx: Reader) -> LaidOutNotes:
    """Have ``root``, which nobody may use, hold the files that the rows say, and no others. Raises ``VaultQuarantined``
    where a version of a file is lost or damaged: then the folder is as it was."""
    with scratch_folder(root.parent, PREFIX) as scratch:
        built = scratch / "notes"
        built.mkdir(FOLDER_MODE)
        done = _write_files(built, tx)
        if root.exists():
            root.rename(scratch / "before")
        built.rename(root)
    return done


def _write_files(root: Path, tx: Reader) -> LaidOutNotes:
    folders = {""}
    files = size = 0
    for each, data in note_files.iter_contents(tx) if note_files.are_kept(tx) else ():
        if data is None:
            raise VaultQuarantined("a file of notes is lost or damaged in the vault's database", reason="damaged")
        _make_folder(root, _segments(each.path)[:-1], folders)
        _write_file(root, each, data)
        files, size = files + 1, size + len(data)
    return LaidOutNotes(files, size)


def _segments(path: str) -> list[str]:
    try:
        return path_segments(path)
    except InvalidArgument as failure:  # nobody wrote such a row but whoever changed the database
        raise VaultQuarantined("a file of notes has a path outside of its folder", reason="damaged") from failure


def _make_folder(root: Path, names: list[str], made: set[str]) -> None:
    path = "/".join(names)
    if path not in made:
        _make_folder(root, names[:-1], made)
        (root / path).mkdir()
        made.add(path)


def _write_file(root: Path, each: NoteFile, data: bytes) -> None:
    descriptor = os.open(f"{root}/{each.path}", _NEW, 0o666)
    try:
        write_all(descriptor, memoryview(data))
        if each.mode is not None:
            os.fchmod(descriptor, each.mode)
        os.utime(descriptor, ns=(each.mtime_ns, each.mtime_ns))
    finally:
        os.close(descriptor)
