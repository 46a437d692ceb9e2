"""Sending entries elsewhere as they come: at least once, in order, and never in the way of a call.

The chain is the backlog: how far a receiver got stands in the chain's own file and moves on once it took a batch. So
nothing is lost when the receiver is away, or this process ends; what it took just before may be sent again. One process
of an installation forwards: the one that holds the lease, which dies with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ops.audit import chain_rows
from ops.audit.entries import StoredEntry
from ops.audit.syslog import SyslogReceiver
from ops.audit.webhook import WebhookReceiver
from vaults.context import begin_apart

if TYPE_CHECKING:
    from ops.audit.audit_log import AuditLog

BATCH = 200
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
"""Seconds until a receiver that was away is tried again: twice as many each time."""

GATHER_S = 0.2
"""Seconds that the first of some entries waits for others: they are sent together."""

LOOK_AGAIN_S = 30.0
"""Seconds between two looks at every chain: other processes add to them as well."""

_log = logging.getLogger(__name__)


class Receiver(Protocol):
    """Where entries are sent."""

    @property
    def name(self) -> str:
        """What its progress is stored under."""

    async def send(self, chain: str, entries: Sequence[StoredEntry]) -> None:
        """Send entries in order. Raises ``OSError``, such as ``TimeoutError``, if it did not take them all."""

    async def close(self) -> None:
        """Close what it holds open."""


class Forwarder:
    """Keeps one receiver up to date."""

    def __init__(
        self, log: AuditLog, receiver: Receiver, pause_s: float = FIRST_PAUSE_S, gather_s: float = GATHER_S
    ) -> None:
        self._log = log
        self._receiver = receiver
        self._first_pause_s = pause_s
        self._gather_s = gather_s
        self._lease = log.stores.sender_lease(receiver.name)
        self._grown: set[str] = set()
        self._told = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._marking: asyncio.Task[None] | None = None

    def tell(self, chain: str) -> None:
        """There is more of a chain."""
        self._grown.add(chain)
        self._told.set()

    def start(self) -> None:
        """Begin with everything that was not sent yet."""
        self._task = begin_apart(self._run(), f"audit-{self._receiver.name}")

    async def _run(self) -> None:
        pause = self._first_pause_s
        while True:
            try:
                self._grown.update(await asyncio.to_thread(self._log.stores.unsent, self._receiver.name))
                await self._send_what_comes()
                pause = self._first_pause_s
            except Exception as failure:  # noqa: BLE001  whatever it was, the entries are still to be sent
                _log.warning("the audit's receiver %s is away: %s", self._receiver.name, type(failure).__name__)
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE_S)

    async def _send_what_comes(self) -> None:
        """Send what every chain has more, and then for a while what this process adds. Another process adds too: its
        entries wait for the next look. Whoever does not hold the lease only waits."""
        loop = asyncio.get_running_loop()
        until = loop.time() + LOOK_AGAIN_S
        if not await asyncio.to_thread(self._lease.try_acquire):
            await asyncio.sleep(LOOK_AGAIN_S)
            return
        while loop.time() < until:
            await self.send_all()
            self._told.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await self._told.wait()
                await asyncio.sleep(self._gather_s)

    async def send_all(self) -> None:
        """Send what the chains that grew have more. Raises what the receiver raises."""
        while self._grown:
            name = self._grown.pop()
            try:
                while await self._send_some(name):
                    pass
            except BaseException:
                self._grown.add(name)
                raise

    async def _send_some(self, name: str) -> bool:
        chain, receiver = self._log.chain(name), self._receiver.name
        seq = await chain.read(partial(chain_rows.read_forwarded, receiver=receiver))
        entries = await chain.read(lambda tx: chain_rows.read_from(tx, seq + 1, BATCH))
        if not entries:
            return False
        await self._receiver.send(name, entries)
        mark = partial(chain_rows.mark_forwarded, receiver=receiver, seq=entries[-1].seq)
        self._marking = asyncio.create_task(chain.write(mark))
        await asyncio.shield(self._marking)
        return True

    async def close(self) -> None:
        """Stop; what is not sent yet is sent after the next start."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._marking is not None:
            # What the receiver took is stored before another process may send: it would send it again.
            await asyncio.gather(self._marking, return_exceptions=True)
        await self._receiver.close()
        self._lease.release()


def make_forwarders(log: AuditLog) -> tuple[Forwarder, ...]:
    """One for each receiver that the settings name."""
    settings, receivers = log.settings, list[Receiver]()
    if settings.syslog is not None:
        receivers.append(SyslogReceiver(settings.syslog))
    if settings.webhook is not None:
        receivers.append(WebhookReceiver(settings.webhook, settings.webhook_token_file))
    return tuple(Forwarder(log, each) for each in receivers)
