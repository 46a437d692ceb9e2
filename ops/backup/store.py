"""Where backups are kept: a folder or a bucket, seen as objects by key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from vaults.errors import VaultUnavailable


@dataclass(frozen=True, slots=True)
class StoredObject:
    """``written_at``: by the store's clock, which need not be ours."""

    key: str
    size: int
    written_at: datetime


class BackupStore(Protocol):
    """Objects by key (``a/b/c``), each whole or absent. Everything blocks: call it on a thread.

    Every method raises ``VaultUnavailable`` (reason ``target``) for a store that is gone or does not answer,
    ``StorageFull``, ``ReadOnly``, ``Forbidden`` for one that does not let this server in.
    """

    name: str
    """For people and logs; holds no secret."""

    grace_s: float
    """Seconds for which an object that nothing names is left, because a backup elsewhere may be about to name it.
    0 where ``hold`` keeps every other backup out."""

    def put(self, key: str, data: bytes) -> None:
        """Store an object, or replace it. Lasting only after ``settle``."""

    def create(self, key: str, data: bytes) -> None:
        """Store an object for good. Raises ``AlreadyExists`` and leaves what is there."""

    def create_file(self, key: str, path: Path) -> None:
        """``create`` of a file's bytes, however large: they are never all in memory."""

    def digest(self, key: str) -> bytes:
        """SHA-256 of an object, as it is read back. Raises ``NotFound``."""

    def settle(self) -> None:
        """Return once all that was put would outlast a power cut."""

    def get(self, key: str) -> bytes:
        """The object. Raises ``NotFound``."""

    def find(self, key: str) -> StoredObject | None:
        """What is known of an object; None where there is none."""

    def list_objects(self, prefix: str) -> Iterator[StoredObject]:
        """The objects below a folder of keys, in no order."""

    def list_folders(self, prefix: str) -> list[str]:
        """The names of the folders right below a folder of keys, in order."""

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects; those that are gone already are no error."""

    def hold(self, prefix: str) -> AbstractContextManager[None]:
        """Be the only one to change what is below ``prefix``. Raises ``Conflict`` where another has it. A bucket knows
        no such lock and lets everybody in: ``grace_s`` is for that."""


def unreachable_error(name: str) -> VaultUnavailable:
    """The error for a store that does not answer, or has gone away."""
    return VaultUnavailable(
        f"the target of backups does not answer: {name}",
        hint="look whether it is there and mounted; backups go on once it is",
        reason="target",
    )


def not_kept_error(store: BackupStore) -> VaultUnavailable:
    """The error for a store that took something and does not have it."""
    return VaultUnavailable(
        f"the target of backups does not give back what was stored there: {store.name}",
        hint="look at its disk; earlier backups stay",
        reason="target",
    )
