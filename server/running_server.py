"""Where commands reach the running server of a data folder.

The URL stands in a file. It counts only while the server that wrote it holds a lock, which its death frees: a file
left by a killed server is never believed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vaults.db.lease import Lease
from vaults.errors import VaultUnavailable

URL_FILE, LOCK_FILE = "serving.url", ".serving"


@contextmanager
def announce_url(data: Path, url: str) -> Iterator[None]:
    """Publish ``url`` for the length of the block. Of two servers over one data folder the first is published; where
    the folder cannot be written, neither is."""
    lease, file = Lease(data / LOCK_FILE), data / URL_FILE
    if not lease.try_acquire():
        yield
        return
    try:
        with suppress(OSError), open(file, "w", encoding="utf-8", opener=_open_private) as target:
            target.write(url)
        yield
    finally:
        with suppress(OSError):
            file.unlink(missing_ok=True)
        lease.release()


def find_running_url(data: Path) -> str | None:
    """The URL of the server that runs over this data folder; None: none runs, or it could not publish its URL."""
    try:
        url = (data / URL_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    lease = Lease(data / LOCK_FILE)
    if lease.try_acquire():  # it was free: nobody serves
        lease.release()
        return None
    return url or None


@contextmanager
def hold_stopped(data: Path) -> Iterator[None]:
    """Keep servers from being found running over this data folder for the length of the block. Raises
    ``VaultUnavailable`` where one runs."""
    lease = Lease(data / LOCK_FILE)
    if not lease.try_acquire():
        raise VaultUnavailable("a server runs over this data folder", hint="stop it first")
    try:
        yield
    finally:
        lease.release()


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
