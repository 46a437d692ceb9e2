"""The heartbeat of a server: keeps its lease, and has silent servers removed so that their vaults can be taken."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from vaults.cluster.failures import Fenced
from vaults.cluster.held_lease import HeldLease
from vaults.cluster.server_watch import ServerBeat, ServerWatch
from vaults.errors import StrongroomError

BEATS_A_LEASE = 6
"""So that some may be lost, and whoever is silent is seen to be so soon after its last beat."""


class BeatLedger(Protocol):
    """Where heartbeats are written down. ``postgres/servers.py``."""

    def beat(self, server: str) -> list[ServerBeat]:
        """Every server. Raises ``Fenced`` where this one was removed, ``LogUnavailable``."""

    def remove(self, silent: ServerBeat) -> bool:
        """Whether it has not beaten since, and is gone for ever."""


class Heartbeat:
    """A thread of its own: neither a busy event loop nor a full pool may cost the lease."""

    def __init__(
        self,
        server: str,
        ledger: BeatLedger,
        lease: HeldLease,
        on_lost: Callable[[], None],
        on_failure: Callable[[StrongroomError], None],
    ) -> None:
        self._server = server
        self._ledger = ledger
        self._lease = lease
        self._watch = ServerWatch(lease.lease_s, lease.clock)
        self._on_lost = on_lost
        self._on_failure = on_failure
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Beat once, and go on in the background. Raises what the first beat raises."""
        self.beat_once()
        self._thread.start()

    def stop(self) -> None:
        """Returns when no beat is under way."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def beat_once(self) -> None:
        """Renew the lease, then look after the others. Raises ``Fenced``, ``LogUnavailable``."""
        if self._beat_and_remove():
            self._beat_and_remove()  # so that it is heard at once who is left

    def _beat_and_remove(self) -> bool:
        """Whether somebody was removed."""
        sent_at = self._lease.clock()
        beats = self._ledger.beat(self._server)
        self._lease.renew(sent_at)
        self._watch.note(beats)
        silent = [each for each in self._watch.silent() if each.id != self._server]
        removed = [self._ledger.remove(each) for each in silent]
        return any(removed)

    def pause_s(self) -> float:
        """Until the next beat: sooner where somebody's time is over by then, but not at once again and again."""
        pause = self._lease.lease_s / BEATS_A_LEASE
        return min(pause, max(pause / 4, self._watch.next_silent_s()))

    def _run(self) -> None:
        while not self._stop.wait(self.pause_s()):
            try:
                self.beat_once()
            except Fenced:
                self._lease.lose()
                self._on_lost()
                return
            except StrongroomError as failure:
                self._on_failure(failure)  # tried again; if it stays so, the lease runs out by itself
