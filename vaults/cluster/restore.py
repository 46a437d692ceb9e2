"""A vault's database in its place, from its log. Nothing is placed that was not compared whole (``log_replay.py``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from vaults.cluster.failures import LogDamaged
from vaults.cluster.log_replay import RestoredLog, WrittenFile, build_copy
from vaults.cluster.vault_log import VaultLog
from vaults.db.database_copy import FullSpeed, refuse_damaged
from vaults.errors import VaultQuarantined
from vaults.files.scratch_folders import scratch_folder

PREFIX = ".restoring-"
BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database."""


def restore(
    store: VaultLog, vault: str, into: Path, until: int, inspect: Callable[[Path], None] | None = None
) -> RestoredLog | None:
    """Put the database as it was after entry ``until`` in the place of whatever stands at ``into``, which nobody may
    have open; None, and nothing is touched, for a vault whose log has not begun. Blocking; by the holder, so that
    nobody exchanges the base meanwhile. ``inspect`` is given the file before it is placed: see ``refuse_unsound``.

    Raises ``LogDamaged``, ``LogUnavailable``, and ``NotFound`` where the base is newer than ``until``."""
    with scratch_folder(into.parent, PREFIX) as folder:
        built = folder / into.name
        copy = build_copy(store, vault, built, until)
        if copy is None:
            return None
        if inspect is not None:
            try:
                inspect(built)
            except VaultQuarantined as failure:
                raise LogDamaged(vault, until, "SQLite finds its database damaged") from failure
        drop_local(into)
        built.rename(into)
    return replace(copy.log, written=WrittenFile.of(into, copy.digests))


def refuse_unsound(path: Path) -> None:
    """SQLite's own quick check, for ``restore``: of what was damaged before it was logged."""
    refuse_damaged(path, FullSpeed())


def drop_local(path: Path) -> None:
    """Remove a local copy: the database, then what SQLite keeps beside it. Nobody may have it open."""
    # In this order: SQLite empties a log that is left without its database, and would replay one into another database.
    path.unlink(missing_ok=True)
    for suffix in BESIDE:
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
