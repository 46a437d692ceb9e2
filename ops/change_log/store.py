"""What the log needs of a store: a part of what a store of backups offers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol


class NamedObject(Protocol):
    @property
    def key(self) -> str: ...


class LogStore(Protocol):
    """Objects by key, each whole or absent. Everything blocks. Raises typed errors: ``VaultUnavailable`` where the
    store does not answer, ``StorageFull``, ``ReadOnly``, ``Forbidden``."""

    def put(self, key: str, data: bytes, /) -> None:
        """Store an object, or replace it. Lasting only after ``settle``."""

    def settle(self) -> None:
        """Return once all that was put would outlast a power cut."""

    def get(self, key: str, /) -> bytes:
        """The object. Raises ``NotFound``."""

    def list_objects(self, prefix: str, /) -> Iterator[NamedObject]:
        """The objects below a folder of keys, in no order."""

    def delete(self, keys: Iterable[str], /) -> None:
        """Remove objects; those that are gone already are no error."""

    def hold(self, prefix: str, /) -> AbstractContextManager[None]:
        """Be the only one to change what is below ``prefix``. Raises ``Conflict`` where another has it."""


def plain(data: bytes) -> bytes:
    """The default of what seals a log and opens it: as it is."""
    return data
