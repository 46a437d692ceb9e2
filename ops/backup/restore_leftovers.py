"""What killed restores left: which vault stays in the place, and what goes."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import structlog

from ops.backup.restore_places import LOCK_END, REJECTED, SCRATCH, UNFINISHED, RestorePlace, place_of, put_back
from vaults.db.connection import open_raw
from vaults.db.failures import translate_sqlite_errors
from vaults.errors import StrongroomError
from vaults.files.atomic import sync_folder
from vaults.registry import DATABASE_FILE
from vaults.settings import StorageSettings
from vaults.vault_gate import hold_if_free

log = structlog.get_logger("ops.backup")


def sweep(parent: Path, registered: Collection[str] | None = None) -> list[str]:
    """Finish what killed restores left in a folder; returns the names of what went or came back. What a living process
    uses stays, and so does a replaced vault as long as what stands in its place does not pass SQLite's check. What
    cannot be removed stays too, and keeps no server from starting. ``registered``: the names of all vaults that may
    lie there; a new one that was not registered before the kill was said to be restored to nobody, and goes."""
    settled: list[str] = []
    for lock in sorted(parent.glob(f"{SCRATCH}*{LOCK_END}")):
        with _try_lock(lock) as target:
            try:
                if target:
                    place = place_of(parent / target, lock.name[len(SCRATCH) : -len(LOCK_END)])
                    settled += _settle(place, is_known=registered is None or target in registered)
                elif target is not None and not lock.with_name(lock.name.removesuffix(LOCK_END)).exists():
                    lock.unlink()  # killed before it said what it was for
            except OSError as failure:
                log.warning("restore_leftovers_stay", name=lock.name, errno=failure.errno)
    return settled


@contextmanager
def _try_lock(lock: Path) -> Iterator[str | None]:
    """The name in a lock file whose holder is gone, '' where there is none in it; else None."""
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        name = os.fsdecode(os.read(descriptor, 4096))
        yield name if "/" not in name and name not in (".", "..") else None
    except BlockingIOError:
        yield None
    finally:
        os.close(descriptor)


def _settle(place: RestorePlace, *, is_known: bool) -> list[str]:
    settled = _end_renames(place)
    if _is_to_be_taken_out(place, is_known=is_known):
        with hold_if_free(place.target) as alone:
            if not alone:
                return settled  # whoever has it open by now would go on in a folder that is gone
            put_back(place)
        settled.append(place.target.name)
    if place.replaced.exists():
        if not (place.replaced / REJECTED).exists() and not _is_sound(place.target / DATABASE_FILE):
            return settled
        shutil.rmtree(place.replaced)
        settled.append(place.replaced.name)
    # Also where nothing stood before: the next restore would take what stands there for one that is under way.
    (place.target / UNFINISHED).unlink(missing_ok=True)
    if place.scratch.exists():
        shutil.rmtree(place.scratch)
        settled.append(place.scratch.name)
    place.lock.unlink()
    sync_folder(place.target.parent)
    return settled


def _end_renames(place: RestorePlace) -> list[str]:
    """After a kill between two renames: have the vault that stood there where it is looked for."""
    if place.scratch.exists() and not (place.scratch / UNFINISHED).exists() and not place.replaced.exists():
        place.scratch.rename(place.replaced)  # killed right after the exchange
    if not place.replaced.exists() or place.target.exists():
        return []
    place.replaced.rename(place.target)
    return [place.target.name]


def _is_to_be_taken_out(place: RestorePlace, *, is_known: bool) -> bool:
    """Whether the restored vault is bad, or is one of which nobody was told."""
    if place.replaced.exists():
        return (place.target / REJECTED).exists()
    return not is_known and not place.scratch.exists() and (place.target / UNFINISHED).exists()


def _is_sound(database: Path) -> bool:
    if not database.is_file() or not database.stat().st_size:
        return False
    try:
        with translate_sqlite_errors(), closing(open_raw(database, StorageSettings(), writer=False)) as raw:
            known = raw.execute("SELECT 1 FROM vault_info WHERE key = 'vault_id'").fetchone()
            return known is not None and raw.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
    except StrongroomError:
        return False
