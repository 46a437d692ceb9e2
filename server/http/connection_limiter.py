"""Limits the connections of one process, in total and per address; idle ones give way to new ones.

A connection costs a stranger nothing, so an idle one gives way to one that may do something: first those on which no
caller was ever let in, then the rest, each time the one idle for longest. Only if every connection is at work is a
newcomer turned away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Protocol

NETWORK_BITS = 64
"""Length of the IPv6 prefix one customer usually has: it counts as one address."""


class LimitedConnection(Protocol):
    """A connection. ``admitted``: a caller was let in on it."""

    admitted: bool

    def close_idle(self) -> None:
        """Close it; it is idle."""


@dataclass(slots=True, eq=False)
class _Peer:
    """The connections of one address; the idle ones in the order they became idle."""

    total: int = 0
    strangers: dict[LimitedConnection, None] = field(default_factory=dict)
    callers: dict[LimitedConnection, None] = field(default_factory=dict)

    def idle(self, connection: LimitedConnection) -> dict[LimitedConnection, None]:
        return self.callers if connection.admitted else self.strangers


class ConnectionLimiter:
    """The connections of one process, on its event loop. ``limit`` in all, ``share`` per address; ``unshared``
    addresses (proxies that speak for many) are bounded by the limit alone."""

    def __init__(self, limit: int, share: int, unshared: Sequence[str] = ()) -> None:
        self._limit = limit
        self._share = share
        self._unshared = tuple(ip_network(each) for each in unshared)
        self._peers: dict[str, _Peer] = {}
        self._of: dict[LimitedConnection, tuple[str, _Peer]] = {}

    def enter(self, connection: LimitedConnection, address: str | None) -> bool:
        """Take in a new connection, idle at first. False: there is no room, and none can be made."""
        key, shares = self._key(address)
        peer = self._peers.get(key)
        if shares and peer is not None and peer.total >= self._share and not self._make_room([peer]):
            return False
        if len(self._of) >= self._limit and not self._make_room(self._largest_first()):
            return False
        peer = self._peers.setdefault(key, _Peer())
        peer.total += 1
        self._of[connection] = key, peer
        self.rest(connection)
        return True

    def leave(self, connection: LimitedConnection) -> None:
        """The connection is gone, or as good as gone. Doing it again changes nothing."""
        key, peer = self._of.pop(connection, (None, None))
        if key is None or peer is None:
            return
        self._wake(connection, peer)
        peer.total -= 1
        if not peer.total:
            del self._peers[key]

    def work(self, connection: LimitedConnection) -> None:
        """A request has begun on it."""
        if connection in self._of:
            self._wake(connection, self._of[connection][1])

    def rest(self, connection: LimitedConnection) -> None:
        """No request is under way on it."""
        if connection in self._of:
            self._of[connection][1].idle(connection)[connection] = None

    def _wake(self, connection: LimitedConnection, peer: _Peer) -> None:
        peer.strangers.pop(connection, None)
        peer.callers.pop(connection, None)

    def _largest_first(self) -> list[_Peer]:
        return sorted(self._peers.values(), key=lambda peer: peer.total, reverse=True)

    def _make_room(self, peers: Sequence[_Peer]) -> bool:
        idle = [peer.strangers for peer in peers] + [peer.callers for peer in peers]
        oldest = next((connection for each in idle for connection in each), None)
        if oldest is None:
            return False
        self.leave(oldest)
        oldest.close_idle()
        return True

    def _key(self, address: str | None) -> tuple[str, bool]:
        """What an address counts as, and whether its share is bounded."""
        try:
            ip = ip_address((address or "").partition("%")[0])
        except ValueError:
            return address or "", False  # no address: a socket of this machine
        if isinstance(ip, IPv6Address):
            ip = ip.ipv4_mapped or ip
        shares = not any(ip in network for network in self._unshared)
        if isinstance(ip, IPv6Address):
            return str(ip_network((ip, NETWORK_BITS), strict=False)), shares
        return str(ip), shares
