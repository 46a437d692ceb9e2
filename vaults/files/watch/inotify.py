"""Watches a tree of folders with the Linux kernel's inotify: one descriptor for a vault, no thread.

``watchfiles`` serves other systems (``watchfiles_source.py``). Here it cannot keep the promises made about a vault: it
discards the kernel's word that events were lost, follows symbolic links out of the folder, cannot leave a hidden
folder unwatched (``.strongroom/vault.db-wal`` changes with every write), stops for good at the first file name
that is not UTF-8, and holds two threads, one of them waking twenty times a second, for each vault.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import functools
import os
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from vaults.files.watch.pending_changes import PendingChanges
from vaults.files.watch.sources import SourceEnded, WatchedNames, run_in_thread

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF, _UNMOUNT, _OVERFLOW, _IGNORED = 0x400, 0x800, 0x2000, 0x4000, 0x8000
_ONLYDIR, _DONT_FOLLOW, _EXCL_UNLINK, _ISDIR = 0x1000000, 0x2000000, 0x4000000, 0x40000000

_CONTENT = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _ONLYDIR | _EXCL_UNLINK
_ROOT = _CONTENT | _DELETE_SELF | _MOVE_SELF  # the root itself may be a link: the owner named it
_BELOW = _CONTENT | _DONT_FOLLOW
_LOST = _DELETE_SELF | _MOVE_SELF | _UNMOUNT | _IGNORED

_HEADER = struct.Struct("iIII")
_READ_BYTES = 65_536
_PAUSE_S = 0.03  # between reads: a stream of events costs a wake-up per pause, not per event; an edit makes one
_LIMITS = {
    errno.ENOSPC: "no inotify watches are left (fs.inotify.max_user_watches)",
    errno.EMFILE: "no inotify instances or file descriptors are left (fs.inotify.max_user_instances, ulimit -n)",
    errno.ENFILE: "the system's table of open files is full",
    errno.ENOMEM: "the kernel has no memory for watches",
    errno.ENOSYS: "this kernel has no inotify",
}


async def follow(
    root: Path, names: WatchedNames, pending: PendingChanges, established: Callable[[], None]
) -> SourceEnded:
    """Report what happens below ``root`` to ``pending`` until that is impossible; the answer says why.

    ``established`` is called once every folder is watched: what happens after that is reported.
    """
    try:
        watched = _WatchedFolders(root, names)
    except OSError as failure:
        return _to_source_ended(failure)
    try:
        await run_in_thread(watched.add_below, "")
        established()
        while True:
            await _wait_readable(watched.descriptor)
            ended = await _report(watched, pending)
            if ended is not None:
                return ended
            await asyncio.sleep(_PAUSE_S)
    except OSError as failure:
        return _to_source_ended(failure)
    finally:
        watched.close()


def _to_source_ended(failure: OSError) -> SourceEnded:
    if failure.errno in _LIMITS:
        return SourceEnded("limit", _LIMITS[failure.errno])
    return SourceEnded("gone", "the folder is missing or cannot be read")


async def _report(watched: _WatchedFolders, pending: PendingChanges) -> SourceEnded | None:
    """Read what there is once and hand it on."""
    appeared: dict[str, None] = {}
    touched: dict[str, bool] = {}  # and whether it is, or was, a folder
    for mask, descriptor, name in _parse_events(os.read(watched.descriptor, _READ_BYTES)):
        if mask & _OVERFLOW:
            return SourceEnded("again", "the kernel dropped events")
        if mask & _LOST and watched.forget(descriptor):
            return SourceEnded("gone", "the folder was removed, moved or unmounted")
        path = watched.path(descriptor, name, mask)
        if path is None:
            continue
        if mask & _ISDIR:
            _follow_folder(watched, path, mask, appeared)
        touched[path] = touched.get(path, False) or bool(mask & _ISDIR)
    if appeared:
        # Look at a new folder only once it is watched: what came before is found by looking, what comes later is
        # reported. Events wait in the kernel meanwhile. Told before that as well, it would be looked at twice on a
        # machine that is slow to start a thread.
        await run_in_thread(watched.add_each, list(appeared))
    for path, folder in touched.items():
        pending.touch(path, folder=folder)
    return None


def _follow_folder(watched: _WatchedFolders, path: str, mask: int, appeared: dict[str, None]) -> None:
    if mask & (_CREATE | _MOVED_TO):
        appeared[path] = None
    elif mask & (_DELETE | _MOVED_FROM):
        appeared.pop(path, None)
        watched.forget_below(path)
    elif not watched.knows(path):  # its permissions may have changed, so that it can be watched now
        appeared[path] = None


def _parse_events(buffer: bytes) -> Iterator[tuple[int, int, bytes]]:
    offset = 0
    while offset < len(buffer):
        descriptor, mask, _cookie, length = _HEADER.unpack_from(buffer, offset)
        offset += _HEADER.size
        yield mask, descriptor, buffer[offset : offset + length].rstrip(b"\0")
        offset += length


class _WatchedFolders:
    """The folders of one vault under watch. Adding runs on another thread, all else on the loop, and never at the same
    time (but for closing): the loop reads no events until what appeared has been added."""

    def __init__(self, root: Path, names: WatchedNames) -> None:
        self._root = os.fspath(root)
        self._names = names
        self._folders: dict[int, str] = {}  # watch → folder, as a path inside the vault; "" is the root
        self._watches: dict[str, int] = {}  # and back
        self._closing = threading.Lock()  # the number of a closed descriptor may already be another vault's
        self._closed = False
        self.descriptor = _check_result(_libc().inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))

    def close(self) -> None:
        with self._closing:
            if not self._closed:
                self._closed = True
                os.close(self.descriptor)

    def forget(self, watch: int) -> bool:
        """Forget a watch that the kernel has ended or is about to. Returns whether it was the root's."""
        folder = self._folders.pop(watch, None)
        if folder is not None and self._watches.get(folder) == watch:
            del self._watches[folder]
        return folder == ""

    def knows(self, folder: str) -> bool:
        return folder in self._watches

    def path(self, watch: int, name: bytes, mask: int) -> str | None:
        """Where an event happened; None where it does not matter: by its name, or no longer watched."""
        folder = self._folders.get(watch)
        if folder is None or not name:
            return None
        try:
            text = name.decode()
        except UnicodeDecodeError:
            return None  # no path of a note; a walk names it among what it skips
        if not (self._names.folder(text) if mask & _ISDIR else self._names.file(text)):
            return None
        return f"{folder}/{text}" if folder else text

    def add_each(self, folders: list[str]) -> None:
        for folder in folders:
            self.add_below(folder)

    def add_below(self, folder: str) -> None:
        """Watch ``folder`` and all below it that is watched by its name; what vanishes or is forbidden is skipped.

        A folder is watched before it is listed, so that none created between the two is missed.
        Raises ``OSError`` for the root itself and where a limit of the system is reached.
        """
        waiting = [folder]
        while waiting and not self._closed:
            current = waiting.pop()
            try:
                self._add(current)
                waiting.extend(self._below(current))
            except OSError as failure:
                if failure.errno in _LIMITS or not current:
                    raise

    def forget_below(self, folder: str) -> None:
        """Stop watching a folder that is gone; one that was moved is watched anew under its new name."""
        inside = folder + "/"
        for path, watch in list(self._watches.items()):
            if path == folder or path.startswith(inside):
                del self._watches[path]
                self._folders.pop(watch, None)
                _libc().inotify_rm_watch(self.descriptor, watch)  # fails where the kernel was quicker

    def _add(self, folder: str) -> None:
        path = os.fsencode(self._absolute(folder))
        with self._closing:
            if self._closed:
                return
            watch = _check_result(_libc().inotify_add_watch(self.descriptor, path, _BELOW if folder else _ROOT))
        self._folders[watch] = folder
        self._watches[folder] = watch

    def _below(self, folder: str) -> Iterator[str]:
        with os.scandir(self._absolute(folder)) as entries:
            for entry in entries:
                if self._names.folder(entry.name) and _is_plain_folder(entry):
                    yield f"{folder}/{entry.name}" if folder else entry.name

    def _absolute(self, folder: str) -> str:
        return f"{self._root}/{folder}" if folder else self._root


def _is_plain_folder(entry: os.DirEntry[str]) -> bool:
    if not entry.is_dir(follow_symlinks=False):
        return False
    try:
        entry.name.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8: notes below have no path
        return False
    return True


async def _wait_readable(descriptor: int) -> None:
    """Wait for events. Registered only while it waits: otherwise unread events would keep the loop spinning."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(descriptor, _resolve, ready)
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)


def _resolve(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


@functools.cache
def _libc() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.inotify_add_watch.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
    return library


def _check_result(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
