"""Packs the history's loose objects, because each commit stores a whole listing of every folder on the note's path.

A vault with 10,000 notes in one folder spends 250 KB a commit on that; packed, the listings are deltas of a few hundred
bytes. libgit2 writes the pack (it releases the interpreter lock there). Loose files go only once the pack is in place
and durable, so a kill at any moment costs disk space at most.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vaults.files.atomic import sync_folder
from vaults.history import commit_objects
from vaults.history.object_store import TEMPORARY_PREFIX, ObjectStore
from vaults.history.trees import Trees

_MOST_COMMITS = 10_000  # in one call
_LEFT_AFTER_S = 24 * 3600.0
_TEMPORARY = "tmp_strongroom_"  # git prunes leftovers that begin with tmp_, folders too


def pack_objects(objects: ObjectStore, trees: Trees, tip: str) -> int:
    """Pack the loose objects of the commits from ``tip`` down to the first packed one; returns how many.

    Also zero while another process is packing.
    """
    with _try_lock_packing(objects.folder) as locked:
        if not locked:
            return 0
        _sweep_orphans(objects.folder)
        loose = _loose_objects(objects, trees, tip)
        return _pack_loose(objects, loose) if loose else 0


@contextmanager
def _try_lock_packing(folder: Path) -> Iterator[bool]:
    """Whether nobody else is packing here, by a kernel lock, which dies with its process."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def _pack_loose(objects: ObjectStore, loose: list[str]) -> int:
    folder = objects.folder / "pack"
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=objects.folder) as temporary:
        _write(objects, loose, Path(temporary))
        # The pack before its index: a pack is looked for only when its index is there.
        for file in sorted(Path(temporary).iterdir(), key=lambda path: path.suffix != ".pack"):
            file.chmod(objects.folder.stat().st_mode & 0o444)
            _sync(file)
            file.replace(folder / file.name)
    sync_folder(folder)
    packed = [oid for oid in loose if objects.is_packed(oid)]
    for oid in packed:
        with suppress(FileNotFoundError):
            objects.loose_path(oid).unlink()
    return len(packed)


def _loose_objects(objects: ObjectStore, trees: Trees, tip: str) -> list[str]:
    """Loose objects of the history: for each commit, what the one before it did not have."""
    unpacked: list[str] = []
    oid: str | None = tip
    while oid is not None and not objects.is_packed(oid):
        unpacked.append(oid)
        oid = next(iter(commit_objects.decode(objects.get(oid, "commit")).parents), None)
    found: dict[str, None] = {}
    base = commit_objects.decode(objects.get(oid, "commit")).tree if oid else None
    # The oldest first: what is left for the next call is then newer than what is packed.
    for oid in unpacked[::-1][:_MOST_COMMITS]:
        tree = commit_objects.decode(objects.get(oid, "commit")).tree
        found[oid] = None
        _collect(trees, tree, base, found)
        base = tree
    return [oid for oid in found if objects.loose_path(oid).is_file()]


def _collect(trees: Trees, tree: str, before: str | None, found: dict[str, None]) -> None:
    if tree == before:
        return
    found[tree] = None
    old = trees.folders(before) if before else {}
    new = {oid: name for name, oid in trees.folders(tree).items()}
    for oid, is_folder in trees.list_added(tree, before):
        if is_folder:
            _collect(trees, oid, old.get(new[oid]), found)
        else:
            found[oid] = None


def _sweep_orphans(folder: Path) -> None:
    """Remove temporary files of killed writers, long after these could still be writing."""
    for left in [*folder.glob(f"{_TEMPORARY}*"), *folder.glob(f"??/{TEMPORARY_PREFIX}*")]:
        with suppress(FileNotFoundError):
            if abs(time.time() - left.lstat().st_mtime) > _LEFT_AFTER_S:
                shutil.rmtree(left) if left.is_dir() else left.unlink()


def _write(objects: ObjectStore, loose: list[str], into: Path) -> None:
    """Have libgit2 pack them. The repository exists in memory only and has no configuration; libgit2 does not see that
    of the user or the system either.
    """
    import pygit2
    from pygit2.enums import ConfigLevel

    for level in (ConfigLevel.PROGRAMDATA, ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
        pygit2.settings.search_path[level] = ""
    store = pygit2.Odb()
    store.add_backend(pygit2.OdbBackendLoose(str(objects.folder), -1, False, 0, 0), 1)
    repository = pygit2.Repository()
    repository.set_odb(store)
    builder = pygit2.PackBuilder(repository)
    builder.set_threads(1)
    for oid in loose:
        builder.add(pygit2.Oid(hex=oid))
    builder.write(path=str(into))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
