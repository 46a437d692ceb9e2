"""Where a vault is restored: a scratch folder beside its place, and the one step in which both change places.

A restore that is killed leaves the old vault in its place or the restored one, whole. What else it leaves has a lock
file that nobody holds any more: ``restore_leftovers`` goes by that.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from uuid_utils import uuid7

from ops.backup.place_checks import fixed_error
from vaults.context import run_to_completion
from vaults.files.atomic import sync_folder
from vaults.files.permissions import make_private_folder
from vaults.files.writes import renames
from vaults.files.writes.renames import FolderEntry

SCRATCH, REPLACED, LOCK_END = ".restoring-", ".replaced-", ".lock"

UNFINISHED = ".unfinished"
"""File in a folder that is being restored: what lacks it under such a name is the vault that stood there before."""

REJECTED = ".rejected"
"""File in a restored folder that turned out bad in its place."""

_FIXED = {errno.EBUSY, errno.EXDEV, errno.ENOTDIR}


@dataclass(frozen=True, slots=True)
class RestorePlace:
    """``target``: the state folder of the vault; ``scratch``: beside it, to restore into; ``replaced``: what stood in
    the place is called so until the restored vault was looked at."""

    target: Path
    scratch: Path
    replaced: Path

    @property
    def token(self) -> str:
        """What tells one restore from another."""
        return self.scratch.name.removeprefix(SCRATCH)

    @property
    def lock(self) -> Path:
        return self.scratch.with_name(self.scratch.name + LOCK_END)


@contextmanager
def hold_place(target: Path) -> Iterator[RestorePlace]:
    """Make a scratch folder beside ``target`` and hold it against the sweeps of others. In the end it goes, whatever
    became of the restore; what stands as ``replaced`` stays."""
    token = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{uuid7().hex[-8:]}"
    place = place_of(target, token)
    if not target.parent.exists():
        make_private_folder(target.parent)
    descriptor = _hold_new(place.lock, target.name)
    try:
        place.scratch.mkdir(0o700)
        (place.scratch / UNFINISHED).touch(0o600)
        yield place
    finally:
        try:
            _clear(place)
        finally:
            os.close(descriptor)


@asynccontextmanager
async def held_place(target: Path) -> AsyncIterator[RestorePlace]:
    """``hold_place`` beside a running event loop: what is removed in the end may be a whole vault."""
    holding = hold_place(target)
    try:
        place = await run_to_completion(asyncio.to_thread(holding.__enter__))
        yield place
    finally:
        await run_to_completion(asyncio.to_thread(holding.__exit__, None, None, None))


def _clear(place: RestorePlace) -> None:
    if not (place.scratch / UNFINISHED).exists() and place.scratch.exists():
        return  # it is the vault that stood there before: the sweep decides
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(place.scratch)
    if not place.replaced.exists():
        place.lock.unlink()


def place_of(target: Path, token: str) -> RestorePlace:
    """The place of a restore that has this token."""
    parent = target.parent
    return RestorePlace(target, parent / f"{SCRATCH}{token}", parent / f"{REPLACED}{token}")


def _hold_new(lock: Path, text: str) -> int:
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            os.write(descriptor, os.fsencode(text))
            os.fsync(descriptor)
            return descriptor
        os.close(descriptor)  # swept between its creation and its lock


def put_in_place(place: RestorePlace) -> bool:
    """Put the restored folder where the vault is served from; what stood there is ``replaced`` afterwards. Returns
    whether anything did. Everything in the scratch folder must be durable. Blocking. Raises ``Conflict``, with
    everything as it was, where the folder cannot change places."""
    with _folder(place.target.parent) as parent:
        scratch, target, replaced = (
            FolderEntry(parent, path.name) for path in (place.scratch, place.target, place.replaced)
        )
        stood = place.target.exists()
        if not stood:
            _rename(scratch, target)
        elif _exchange(scratch, target):
            os.fsync(parent)
            _rename(scratch, replaced)
        else:  # no such call here: a kill in between leaves no vault in the place, and the sweep puts the old one back
            _rename(target, replaced)
            _rename(scratch, target)
        os.fsync(parent)
    return stood


def _exchange(scratch: FolderEntry, target: FolderEntry) -> bool:
    try:
        return renames.exchange(scratch, target)
    except OSError as failure:
        if failure.errno in _FIXED:
            raise fixed_error(Path(target.name)) from failure
        raise


def put_back(place: RestorePlace) -> None:
    """Take the restored vault out again, for what stood there before. Blocking."""
    with _folder(place.target.parent) as parent:
        scratch, target, replaced = (
            FolderEntry(parent, path.name) for path in (place.scratch, place.target, place.replaced)
        )
        for mark in (UNFINISHED, REJECTED):
            (place.target / mark).touch(0o600)
        sync_folder(place.target)
        if not place.replaced.exists():
            _rename(target, scratch)
        elif renames.exchange(replaced, target):
            _rename(replaced, scratch)
        else:
            _rename(target, scratch)
            _rename(replaced, target)
        os.fsync(parent)


def finish(place: RestorePlace) -> Path | None:
    """The restored vault is good: what stood there before goes. Returns where it still is, if it cannot be removed.
    Blocking."""
    (place.target / UNFINISHED).unlink(missing_ok=True)
    sync_folder(place.target)
    if place.replaced.exists():
        try:
            shutil.rmtree(place.replaced)
        except OSError:  # files of somebody else: the vault is restored all the same
            return place.replaced
        sync_folder(place.target.parent)
    return None


@contextmanager
def _folder(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _rename(source: FolderEntry, target: FolderEntry) -> None:
    os.rename(source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder)
