"""Who may have a vault's folder: many at a time to serve it, or one alone to exchange, move or erase it.

Two kernel locks (``flock``), so both end with the process that holds them. Whoever has the vault open holds ``.gate``
shared. Whoever wants the folder alone first takes ``.intent``, at which everybody else closes the vault and nobody
opens it, then ``.gate`` exclusively. ``.intent`` is there only while somebody wants the folder or died wanting it: a
look at an open vault's gate is one system call.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path

from vaults.errors import ReadOnly, VaultUnavailable
from vaults.files.permissions import FILE_MODE

GATE_FILE = ".gate"
INTENT_FILE = ".intent"
RETRY_S = 0.02
"""Seconds between two attempts at a lock that others hold."""

_ATTEMPTS = 4
_FOLDER = os.O_RDONLY | os.O_DIRECTORY


class VaultGate:
    """The gate of a folder, for a process that serves it. No call waits."""

    def __init__(self, folder: Path) -> None:
        self._gate = folder / GATE_FILE
        self._intent = folder / INTENT_FILE
        self._held: int | None = None

    @property
    def held(self) -> bool:
        return self._held is not None

    def enter(self) -> None:
        """Hold the gate from now on. Raises ``VaultUnavailable`` while somebody has or wants the folder alone. Where
        the folder is missing or no lock can be made there is no gate: nobody could take it either."""
        for _ in range(_ATTEMPTS):
            descriptor = _lock_shared(self._gate)
            if descriptor is None:
                return
            if not _is_at(descriptor, self._gate):  # the folder was exchanged meanwhile
                os.close(descriptor)
                continue
            self._held = descriptor
            if self.is_wanted():
                break
            return
        self.leave()
        raise _busy()

    def is_wanted(self) -> bool:
        """Whether somebody has or wants the folder alone."""
        try:
            descriptor = os.open(self._intent, os.O_RDONLY)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return False

    def leave(self) -> None:
        """Let others have the folder. Idempotent."""
        descriptor, self._held = self._held, None
        if descriptor is not None:
            _unlock(descriptor)


@asynccontextmanager
async def hold_exclusively(folder: Path, wait_s: float) -> AsyncIterator[None]:
    """Have an existing folder alone: nobody else has it open or can open it, in any process, this one included. It may
    be moved or exchanged meanwhile. Raises ``VaultUnavailable`` if others keep it for ``wait_s`` or it is not there,
    ``ReadOnly`` where no lock can be made."""
    until = time.monotonic() + wait_s
    async with AsyncExitStack() as held:
        while True:
            try:
                place = os.open(folder, _FOLDER)
            except (FileNotFoundError, NotADirectoryError):
                raise _not_there() from None
            except OSError as failure:
                raise ReadOnly("the vault's folder cannot be opened", hint="the operator must check its mode") from (
                    failure
                )
            held.callback(os.close, place)
            held.callback(_unlock, await _lock(place, INTENT_FILE, until))
            held.callback(_remove_intent, place)
            held.callback(_unlock, await _lock(place, GATE_FILE, until))
            if _is_at(place, folder):
                break
            await held.aclose()  # what was locked was moved away by whoever had it before
        yield


@contextmanager
def hold_if_free(folder: Path) -> Iterator[bool]:
    """Have an existing folder alone for the length of the block, where nobody has it open now; False, and it is
    theirs, where somebody has. Blocking, but waits for nobody."""
    descriptor = os.open(folder / GATE_FILE, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        yield False
        return
    try:
        yield True
    finally:
        _unlock(descriptor)


async def _lock(place: int, name: str, until: float) -> int:
    """The descriptor of a file that is now locked exclusively."""
    while True:
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_CREAT, FILE_MODE, dir_fd=place)
        except FileNotFoundError:
            raise _not_there() from None  # erased while we waited
        except OSError as failure:
            raise ReadOnly("the vault's files cannot be written", hint="the operator must check mount and owner") from (
                failure
            )
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_named(place, name, descriptor):
                return descriptor
        except BlockingIOError:
            pass
        except OSError as failure:
            os.close(descriptor)
            raise ReadOnly("the vault's files cannot be locked", hint="its file system must know locks") from failure
        os.close(descriptor)
        if time.monotonic() >= until:
            raise VaultUnavailable("others keep the vault open", hint="try again, or end what uses it")
        await asyncio.sleep(RETRY_S)


def _is_named(place: int, name: str, descriptor: int) -> bool:
    """Whether the name still stands for the open file: another holder removes its intent when it is done."""
    try:
        found = os.stat(name, dir_fd=place, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(found, os.fstat(descriptor))


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _lock_shared(gate: Path) -> int | None:
    """The gate's file, locked shared; None where there can be none. Raises ``VaultUnavailable``."""
    try:
        descriptor = os.open(gate, os.O_RDONLY | os.O_CREAT, FILE_MODE)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise _busy() from None
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove_intent(place: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(INTENT_FILE, dir_fd=place)


def _unlock(descriptor: int) -> None:
    # Said, not left to closing: a child that was forked meanwhile has the same lock.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _busy() -> VaultUnavailable:
    return VaultUnavailable("the vault is being restored or moved", hint="call again in a few seconds")


def _not_there() -> VaultUnavailable:
    return VaultUnavailable("the vault's folder is not there", hint="is its disk mounted?")
