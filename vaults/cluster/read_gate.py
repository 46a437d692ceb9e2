"""When a read of a vault may be answered: what it saw is in the log, and the vault was still this server's.

SQLite shows a commit to readers before it is appended to the log. Answered then, and lost with the server, it would
have been seen and never have been.
"""

from __future__ import annotations

import threading

from vaults.cluster.held_lease import HeldLease
from vaults.errors import VaultUnavailable


class ReadGate:
    """One for each held vault. Writes are numbered as they begin; any thread, and waiting blocks."""

    def __init__(self, lease: HeldLease) -> None:
        self._lease = lease
        self._changed = threading.Condition()
        self._begun = 0
        self._open: set[int] = set()
        self._broken: VaultUnavailable | None = None

    def begin(self) -> int:
        """Call before a commit can be seen. Raises what the gate was broken by."""
        with self._changed:
            self._refuse_if_broken()
            self._begun += 1
            self._open.add(self._begun)
            return self._begun

    def end(self, number: int) -> None:
        """It is in the log, or was rolled back."""
        with self._changed:
            self._open.discard(number)
            self._changed.notify_all()

    def break_by(self, failure: VaultUnavailable) -> None:
        """An append failed: what stands here may be ahead of the log, and is never shown again."""
        with self._changed:
            self._broken = self._broken or failure
            self._changed.notify_all()

    def wait_answerable(self) -> None:
        """Call with the snapshot taken, and answer once it returns. Waits for the writes that had begun by then, not
        for later ones. Raises ``Fenced`` and ``LogUnavailable``."""
        with self._changed:
            seen = self._begun
            self._changed.wait_for(lambda: self._broken or not any(number <= seen for number in self._open))
            self._refuse_if_broken()
        self._lease.require_held()

    def refuse_if_lost(self) -> None:
        """``wait_answerable`` for what was answered once already: never waits."""
        self._refuse_if_broken()
        self._lease.require_held()

    def _refuse_if_broken(self) -> None:
        if self._broken is not None:
            raise type(self._broken)(self._broken.message)
