"""What is on disk at a path now, read as the index would read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vaults.domain.notes.index import file_reader, reader_pool
from vaults.domain.notes.index.extraction import Intake
from vaults.domain.notes.index.file_reader import Readings
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class Seen:
    """A path as it is on disk: a note (``taken``), something that is left out of the index and why (``left_out``), or
    nothing. ``closed``: it is there but cannot be read now, and what is known of it counts."""

    path: str
    taken: Intake | None = None
    left_out: str | None = None
    closed: bool = False


def seen(found: Readings) -> list[Seen]:
    """What was read."""
    return [
        *(Seen(each.path, each) for each in found.taken),
        *(Seen(each.path, left_out=each.reason) for each in found.odd),
        *(Seen(each.path, left_out=each.reason, closed=True) for each in found.unreadable),
    ]


def look_at_all(vault: Vault, paths: Sequence[str]) -> list[Seen]:
    """Whatever is at some paths. Blocking. Raises ``VaultUnavailable``."""
    return [_look(vault, path) for path in paths]


def _look(vault: Vault, path: str) -> Seen:
    walk = vault.notes.tree.walk_folder(path)
    if any(each.path == path for each in walk.found):
        found = seen(file_reader.read(vault.notes.tree, [file_reader.anew(path)], reader_pool.job_of(vault)))
        return found[0] if found else Seen(path)
    if walk.unread:
        return Seen(path, left_out="its folder cannot be read", closed=True)
    reason = next((str(each.reason) for each in reversed(walk.skipped) if each.path == path), None)
    return Seen(path, left_out=reason)
