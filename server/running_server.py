"""The server of a data folder: there is one at a time, and commands find it.

It holds a lock as long as it lives, which its death frees, and its URL stands in a file: a file left by a killed server
is never believed, and a second server, or one that starts while the folder is being restored, is refused.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vaults.errors import VaultUnavailable
from vaults.files.permissions import FILE_MODE

URL_FILE, LOCK_FILE = "serving.url", ".serving"

LOOK_S = 1.0
"""Seconds the lock is waited for: a command that looks for a server holds it for a moment."""

_RETRY_S = 0.02


@contextmanager
def hold_serving(data: Path) -> Iterator[None]:
    """Be the server of this data folder for the length of the block. Raises ``VaultUnavailable`` where another one is,
    or while the folder is restored. Where no lock can be made, since nothing can be written, nobody else can change
    anything either."""
    with _hold(data) as held:
        if not held:
            where = _read_url(data)
            raise VaultUnavailable(
                f"a server runs over this data folder, at {where}"
                if where
                else "a server runs over this data folder, or it is being restored",
                hint="stop it first; for more processes: --workers",
            )
        yield


@contextmanager
def hold_stopped(data: Path) -> Iterator[None]:
    """Keep servers from starting over this data folder for the length of the block. Raises ``VaultUnavailable`` where
    one runs."""
    with _hold(data) as held:
        if not held:
            raise VaultUnavailable("a server runs over this data folder", hint="stop it first")
        yield


@contextmanager
def announce_url(data: Path, url: str) -> Iterator[None]:
    """Publish the URL of the server of this data folder, which this process is, for the length of the block; where the
    folder cannot be written, it is not."""
    file = data / URL_FILE
    try:
        with suppress(OSError), open(file, "w", encoding="utf-8", opener=_open_private) as target:
            target.write(url)
        yield
    finally:
        with suppress(OSError):
            file.unlink(missing_ok=True)


def find_running_url(data: Path) -> str | None:
    """The URL of the server that runs over this data folder; None: none runs, or it could not publish its URL."""
    url = _read_url(data)
    return url if url and not _is_free(data) else None


def _read_url(data: Path) -> str | None:
    try:
        return (data / URL_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _is_free(data: Path) -> bool:
    try:
        _unlock(_lock(data, 0.0))
    except BlockingIOError:
        return False
    return True


@contextmanager
def _hold(data: Path) -> Iterator[bool]:
    """Hold the lock, if it can be had within ``LOOK_S``; whether it is ours, or nobody's because there can be none."""
    try:
        descriptor = _lock(data, LOOK_S)
        is_free = True
    except BlockingIOError:
        descriptor, is_free = None, False
    try:
        yield is_free
    finally:
        _unlock(descriptor)


def _lock(data: Path, wait_s: float) -> int | None:
    """The file, locked; None where none can be made or locked. Raises ``BlockingIOError`` while another has it."""
    until = time.monotonic() + wait_s
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(data / LOCK_FILE, os.O_RDWR | os.O_CREAT, FILE_MODE)
    except OSError:
        return None
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                os.close(descriptor)
                raise
            time.sleep(_RETRY_S)
        except OSError:
            os.close(descriptor)
            return None
        else:
            return descriptor


def _unlock(descriptor: int | None) -> None:
    if descriptor is not None:
        # Said, not left to closing: a child that was forked meanwhile has the same lock.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
