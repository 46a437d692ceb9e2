"""Changes that are prepared first, and then made visible in one step.

The slow part, writing and syncing the bytes, happens in the preparation, so a database commit can run meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from vaults.files.failures import translate_os_errors
from vaults.files.file_stamps import FileStamp
from vaults.files.folders import OpenFolder, OpenFolders


class NameChange(Protocol):
    """One change of one name: it happens wholly or not at all."""

    @property
    def path(self) -> str: ...

    def run(self) -> FileStamp:
        """Makes it visible, not yet durable. Returns the version that is now there, or that was removed."""

    def undo(self) -> None:
        """Removes what the preparation, or a failed ``run``, has left."""


class PreparedChange:
    """A change that waits to be either published or discarded, once.

    As a context manager it discards itself unless it was published. Safe from any thread, one at a time.
    """

    def __init__(self, change: NameChange, folders: OpenFolders, held: Sequence[OpenFolder]) -> None:
        self._change = change
        self._folders = folders
        self._held = held
        self._open = True

    @property
    def path(self) -> str:
        return self._change.path

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders to sync after ``publish_unsynced``, as vault-relative paths."""
        return tuple(dict.fromkeys(folder.path for folder in self._held))

    def publish(self) -> FileStamp:
        """Makes the change visible and durable. Raises Conflict, AlreadyExists, StorageFull, ReadOnly."""
        with self._ending():
            stamp = self._change.run()
            for folder in self._held:
                os.fsync(folder.descriptor)
            return stamp

    def publish_unsynced(self) -> FileStamp:
        """As ``publish``, names are durable only after ``Tree.sync(folders)``: one sync per folder, not per file."""
        with self._ending():
            return self._change.run()

    def discard(self) -> None:
        """Leaves everything as it was. Does nothing after ``publish``, or a second time."""
        if self._open:
            with self._ending():
                self._change.undo()

    def __enter__(self) -> PreparedChange:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    @contextmanager
    def _ending(self) -> Iterator[None]:
        if not self._open:
            raise RuntimeError("a prepared change is published or discarded once")
        self._open = False
        try:
            with translate_os_errors(self.path):
                try:
                    yield
                except BaseException:
                    self._change.undo()
                    raise
        finally:
            for folder in self._held:
                self._folders.release(folder)
