"""A log whose appends are told to whoever watches."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from vaults.cluster.cluster_observer import ClusterObserver
from vaults.cluster.vault_log import LogEntry, Placement, VaultLog


class MeasuredLog:
    """A ``VaultLog`` over another."""

    def __init__(self, log: VaultLog, observer: ClusterObserver) -> None:
        self._log = log
        self._observer = observer

    def append(self, placement: Placement, payload: bytes) -> Placement:
        """The contract's."""
        began = time.monotonic()
        appended = self._log.append(placement, payload)
        self._observer.on_append(len(payload), time.monotonic() - began)
        return appended

    def entries(self, vault: str, after: int) -> Iterator[LogEntry]:
        """The contract's."""
        return self._log.entries(vault, after)

    def base(self, vault: str) -> tuple[int, Iterator[bytes]] | None:
        """The contract's."""
        return self._log.base(vault)

    def sizes(self, vault: str) -> tuple[int, int]:
        """The contract's."""
        return self._log.sizes(vault)

    def note_purge(self, placement: Placement) -> Placement:
        """The contract's."""
        return self._log.note_purge(placement)

    def replace_base(self, placement: Placement, seq: int, parts: Iterable[bytes]) -> None:
        """The contract's; told with its size once the old base is gone."""
        began, size = time.monotonic(), 0

        def counted() -> Iterator[bytes]:
            nonlocal size
            for part in parts:
                size += len(part)
                yield part

        self._log.replace_base(placement, seq, counted())
        self._observer.on_rebased(size, time.monotonic() - began)
