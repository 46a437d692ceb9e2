"""Renames that lose nothing: exchanging two names at once, and renaming only to a free name.

Both are single steps in the kernel: ``renameat2`` on Linux, ``renameatx_np`` on macOS. Some file systems (and old
systems) have neither; then ``exchange`` says so, and ``rename_exclusive`` uses a hard link.
"""

from __future__ import annotations

import errno
import functools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

# Answers of a kernel or a file system that does not know the flag.
_UNSUPPORTED = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP}


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A name in an open folder."""

    folder: int
    name: str


def exchange(one: FolderEntry, other: FolderEntry) -> bool:
    """Swaps what the two names stand for, in one step; False where the system cannot. ``OSError`` if one is absent."""
    return _rename(one, other, _flags().exchange)


def rename_exclusive(source: FolderEntry, target: FolderEntry) -> None:
    """Renames, never over anything. ``FileExistsError`` if the target exists.

    Without help from the file system, a killed process can leave both names; never neither.
    """
    if _rename(source, target, _flags().exclusive):
        return
    os.link(source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder, follow_symlinks=False)
    os.unlink(source.name, dir_fd=source.folder)


def rename_folder(source: FolderEntry, target: FolderEntry) -> None:
    """Renames a folder, never over another one that holds anything. ``FileExistsError`` if the target exists."""
    try:
        supported = _rename(source, target, _flags().exclusive)
    except OSError as failure:
        if failure.errno == errno.ENOTEMPTY:
            raise FileExistsError(*failure.args) from None
        raise
    if not supported:
        os.rename(source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder)


@dataclass(frozen=True, slots=True)
class _RenameFlags:
    exchange: int
    exclusive: int


def _flags() -> _RenameFlags:
    return _RenameFlags(2, 4) if sys.platform == "darwin" else _RenameFlags(2, 1)


def _rename(source: FolderEntry, target: FolderEntry, flags: int) -> bool:
    call = _system_call()
    if call is None:
        return False
    code = call(source.folder, os.fsencode(source.name), target.folder, os.fsencode(target.name), flags)
    if not code:
        return True
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), source.name, None, target.name)


@functools.cache
def _system_call() -> Callable[[int, bytes, int, bytes, int], int] | None:
    """The kernel's rename with flags, returning 0 or an errno; None where the C library has none."""
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    name = "renameatx_np" if sys.platform == "darwin" else "renameat2"
    function = getattr(library, name, None)
    if function is None:
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    function.restype = ctypes.c_int

    def call(from_folder: int, source: bytes, to_folder: int, target: bytes, flags: int) -> int:
        while function(from_folder, source, to_folder, target, flags):
            code = ctypes.get_errno()
            if code != errno.EINTR:
                return code
        return 0

    return call
