"""Where a vault is restored: a scratch folder beside its place, and the one step in which both change places.

A restore that is killed leaves the old vault in its place or the restored one, whole. What else it leaves has a lock
file that nobody holds any more; the next sweep goes by that.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from uuid_utils import uuid7

from vaults.db.connection import open_raw
from vaults.db.failures import translate_sqlite_errors
from vaults.errors import StrongroomError
from vaults.files.atomic import sync_folder
from vaults.files.permissions import make_private_folder
from vaults.files.writes import renames
from vaults.files.writes.renames import FolderEntry
from vaults.settings import StorageSettings
from vaults.vault import DATABASE_FILE

SCRATCH, REPLACED, LOCK_END = ".restoring-", ".replaced-", ".lock"

UNFINISHED = ".unfinished"
"""File in a folder that is being restored: what lacks it under such a name is the vault that stood there before."""

REJECTED = ".rejected"
"""File in a restored folder that turned out bad in its place."""


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
    place = _place_of(target, token)
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


def _clear(place: RestorePlace) -> None:
    if not (place.scratch / UNFINISHED).exists() and place.scratch.exists():
        return  # it is the vault that stood there before: the sweep decides
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(place.scratch)
    if not place.replaced.exists():
        place.lock.unlink()


def _place_of(target: Path, token: str) -> RestorePlace:
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
    whether anything did. Everything in the scratch folder must be durable. Blocking."""
    with _folder(place.target.parent) as parent:
        scratch, target, replaced = (
            FolderEntry(parent, path.name) for path in (place.scratch, place.target, place.replaced)
        )
        stood = place.target.exists()
        if not stood:
            _rename(scratch, target)
        elif renames.exchange(scratch, target):
            os.fsync(parent)
            _rename(scratch, replaced)
        else:  # no such call here: a kill in between leaves no vault in the place, and the sweep puts the old one back
            _rename(target, replaced)
            _rename(scratch, target)
        os.fsync(parent)
    return stood


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


def finish(place: RestorePlace) -> None:
    """The restored vault is good: what stood there before goes. Blocking."""
    (place.target / UNFINISHED).unlink(missing_ok=True)
    sync_folder(place.target)
    if place.replaced.exists():
        shutil.rmtree(place.replaced)
        sync_folder(place.target.parent)


def sweep(parent: Path) -> list[str]:
    """Finish what killed restores left in a folder; returns the names of what went or came back. What a living process
    uses stays, and so does a replaced vault as long as what stands in its place does not pass SQLite's check."""
    settled: list[str] = []
    for lock in sorted(parent.glob(f"{SCRATCH}*{LOCK_END}")):
        with _try_lock(lock) as target:
            if target is not None:
                settled += _settle(_place_of(parent / target, lock.name[len(SCRATCH) : -len(LOCK_END)]))
    return settled


@contextmanager
def _try_lock(lock: Path) -> Iterator[str | None]:
    """The name in a lock file whose holder is gone, else None."""
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        name = os.fsdecode(os.read(descriptor, 4096))
        yield name if "/" not in name and name not in ("", ".", "..") else None
    except BlockingIOError:
        yield None
    finally:
        os.close(descriptor)


def _settle(place: RestorePlace) -> list[str]:
    if place.scratch.exists() and not (place.scratch / UNFINISHED).exists() and not place.replaced.exists():
        place.scratch.rename(place.replaced)  # killed right after the exchange
    settled = []
    if place.replaced.exists() and not place.target.exists():
        place.replaced.rename(place.target)  # killed between two renames
        settled.append(place.target.name)
    if place.replaced.exists() and (place.target / REJECTED).exists():
        put_back(place)
        settled.append(place.target.name)
    if place.replaced.exists():
        if not (place.replaced / REJECTED).exists() and not _is_sound(place.target / DATABASE_FILE):
            return settled
        (place.target / UNFINISHED).unlink(missing_ok=True)
        shutil.rmtree(place.replaced)
        settled.append(place.replaced.name)
    if place.scratch.exists():
        shutil.rmtree(place.scratch)
        settled.append(place.scratch.name)
    place.lock.unlink()
    sync_folder(place.target.parent)
    return settled


def _is_sound(database: Path) -> bool:
    if not database.is_file() or not database.stat().st_size:
        return False
    try:
        with translate_sqlite_errors(), closing(open_raw(database, StorageSettings(), writer=False)) as raw:
            known = raw.execute("SELECT 1 FROM vault_info WHERE key = 'vault_id'").fetchone()
            return known is not None and raw.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
    except StrongroomError:
        return False


@contextmanager
def _folder(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _rename(source: FolderEntry, target: FolderEntry) -> None:
    os.rename(source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder)
