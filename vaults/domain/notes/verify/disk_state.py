"""What is on disk at a path, read the way the index would read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vaults.domain.notes.index import file_reader, reader_pool
from vaults.domain.notes.index.extraction import NoteExtract
from vaults.domain.notes.index.file_reader import ReadBatch
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class DiskState:
    """A path as it is on disk: a note, something left out of the index, or nothing."""

    path: str
    extract: NoteExtract | None = None  # set if it is a note
    left_out: str | None = None  # why it is left out
    closed: bool = False  # it exists but cannot be read now, so its rows count


def to_disk_states(found: ReadBatch) -> list[DiskState]:
    """The states of the files in a batch."""
    return [
        *(DiskState(each.path, each) for each in found.extracts),
        *(DiskState(each.path, left_out=each.reason) for each in found.skipped),
        *(DiskState(each.path, left_out=each.reason, closed=True) for each in found.unreadable),
    ]


def read_disk_states(vault: Vault, paths: Sequence[str]) -> list[DiskState]:
    """The states of several paths. Blocking. Raises ``VaultUnavailable``."""
    return [_read_disk_state(vault, path) for path in paths]


def _read_disk_state(vault: Vault, path: str) -> DiskState:
    walk = vault.notes.tree.walk_folder(path)
    if any(each.path == path for each in walk.found):
        found = to_disk_states(
            file_reader.read_files(vault.notes.tree, [file_reader.to_reread(path)], reader_pool.make_job(vault))
        )
        return found[0] if found else DiskState(path)
    if walk.unread:
        return DiskState(path, left_out="its folder cannot be read", closed=True)
    reason = next((str(each.reason) for each in reversed(walk.skipped) if each.path == path), None)
    return DiskState(path, left_out=reason)
