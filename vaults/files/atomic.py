"""Whole-file replacement that survives a kill, a power cut and a full disk.

A reader sees the old bytes or the new ones, never a mixture: everything goes into a temporary file beside the
target, which is synced, renamed over it, and then the folder is synced so that the rename itself is durable.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from vaults.files.failures import disk_failure

Buffer: TypeAlias = bytes | bytearray | memoryview


def write_atomic(
    path: Path,
    data: bytes | Iterable[Buffer],
    mode: int = 0o600,
    before_replace: Callable[[int], None] | None = None,
) -> None:
    """Replace ``path`` by ``data``; durable when it returns.

    The folder must exist; a symlink at ``path`` is replaced, not followed. Buffers are written as they are
    produced, so a large file needs no second copy in memory. ``before_replace`` is called with the descriptor of the
    temporary file once that is synced, which may take long: what it checks was so just before the replacement. On any
    failure, also one raised by ``data`` or ``before_replace``, the old file stands untouched and the temporary one is
    gone.
    Raises StorageFull, ReadOnly; other ``OSError`` passes through.
    """
    with _translate_os_errors():
        descriptor, temporary = _open_temporary(path)
        try:
            try:
                for buffer in [data] if isinstance(data, bytes) else data:
                    write_all(descriptor, memoryview(buffer).cast("B"))
                os.fchmod(descriptor, mode)
                os.fsync(descriptor)
                if before_replace is not None:
                    before_replace(descriptor)
                temporary.replace(path)
            finally:
                os.close(descriptor)
        except BaseException:
            with suppress(FileNotFoundError):
                temporary.unlink()
            raise
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames and removals inside ``folder`` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sweep_temporaries(path: Path) -> int:
    """Remove what killed writers of ``path`` left next to it; returns how many.

    A writer holds a kernel lock on its temporary file, which dies with it: a file that can be locked has no
    writer, in this process or another. Only names made by ``write_atomic`` for this path are considered.
    """
    prefix, suffix = _affixes(path)
    swept = 0
    for entry in path.parent.iterdir():
        if entry.name.startswith(prefix) and entry.name.endswith(suffix):
            swept += _remove_orphan(entry)
    return swept


def _affixes(path: Path) -> tuple[str, str]:
    return f".{path.name}.", ".tmp"


def _open_temporary(path: Path) -> tuple[int, Path]:
    prefix, suffix = _affixes(path)
    while True:
        descriptor, name = tempfile.mkstemp(prefix=prefix, suffix=suffix, dir=path.parent)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor, Path(name)
        os.close(descriptor)  # swept between its creation and its lock


def _remove_orphan(temporary: Path) -> bool:
    try:
        # A link or device under this name must not lead elsewhere, or make the process wait.
        descriptor = os.open(temporary, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        temporary.unlink()
    except (BlockingIOError, FileNotFoundError):
        return False
    else:
        return True
    finally:
        os.close(descriptor)


def write_all(descriptor: int, view: memoryview) -> None:
    """Write all of ``view``, however little the system takes at a time."""
    while view:
        view = view[os.write(descriptor, view) :]


@contextmanager
def _translate_os_errors() -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        error = disk_failure(failure)
        if error is None:
            raise
        raise error from failure
