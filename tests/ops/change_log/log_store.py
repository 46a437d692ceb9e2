"""A store of logs in memory, which can be told to fail."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from vaults.errors import Forbidden, NotFound, StorageFull, VaultUnavailable


@dataclass(frozen=True, slots=True)
class Named:
    key: str


class MemoryStore:
    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.is_away = False
        self.asked = 0
        self.refused = ""
        """What keys hold that are not taken."""
        self.forbids_deleting = False
        self.answers = threading.Event()
        """Cleared: it hangs."""
        self.answers.set()

    def put(self, key: str, data: bytes) -> None:
        self._reach()
        if self.refused and self.refused in key:
            raise StorageFull("the store is full")
        self.objects[key] = data

    def settle(self) -> None:
        self._reach()

    def get(self, key: str) -> bytes:
        self._reach()
        if key not in self.objects:
            raise NotFound("no such object")
        return self.objects[key]

    def list_objects(self, prefix: str) -> Iterator[Named]:
        self._reach()
        there = list(self.objects)  # at once: other threads put more meanwhile
        return iter([Named(key) for key in there if key.startswith(f"{prefix}/")])

    def delete(self, keys: Iterable[str]) -> None:
        self._reach()
        if self.forbids_deleting:
            raise Forbidden("nothing is deleted here")
        for key in keys:
            self.objects.pop(key, None)

    def hold(self, prefix: str) -> AbstractContextManager[None]:
        self._reach()
        return nullcontext()

    def _reach(self) -> None:
        self.asked += 1
        self.answers.wait()
        if self.is_away:
            raise VaultUnavailable("the store is away")
