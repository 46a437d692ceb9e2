"""Where other servers reach this one: a socket, bound before the server's row says its address, and an identity."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
from contextlib import AsyncExitStack
from dataclasses import dataclass

from server.cluster.peer_identity import PeerIdentity, make_identity
from server.cluster_settings import ClusterSettings
from server.listening_socket import bind
from vaults.cluster.postgres.connections import Connections
from vaults.errors import InvalidArgument

_EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104  compared, not bound


@dataclass(frozen=True, slots=True)
class PeerDoor:
    """``address``: host:port that other servers are told. ``listener`` takes connections from now on, and answers them
    once somebody serves it."""

    identity: PeerIdentity
    listener: socket.socket
    address: str


async def open_peer_door(stack: AsyncExitStack, settings: ClusterSettings, connections: Connections) -> PeerDoor:
    """Bind it; ``stack`` closes it. Raises ``InvalidArgument`` for an address that cannot be had, or that others could
    not reach."""
    host = settings.host
    if host is None:
        host = await asyncio.to_thread(find_own_address, connections)
    elif host in _EVERYWHERE and settings.address is None:
        raise InvalidArgument("cluster.address", "is needed where cluster.host is every address")
    listener = await asyncio.to_thread(bind, host, settings.port, "cluster.")
    stack.callback(listener.close)
    identity = await asyncio.to_thread(make_identity)
    return PeerDoor(identity, listener, settings.address or _address_of(listener))


def find_own_address(connections: Connections) -> str:
    """The address this machine has towards the database: others of the installation are there too. Blocking. Raises
    ``LogUnavailable``."""
    with connections.use() as connection, socket.socket(fileno=os.dup(connection.fileno())) as other_end:
        if other_end.family not in (socket.AF_INET, socket.AF_INET6):
            return "127.0.0.1"
        host = str(other_end.getsockname()[0])
    mapped = getattr(ipaddress.ip_address(host.partition("%")[0]), "ipv4_mapped", None)
    return str(mapped or host)


def _address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"
