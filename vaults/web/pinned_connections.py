"""Connections that go to the very address that was looked at: between a look and a connection a name may change."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence

import httpcore2

from vaults.listed_hosts import ListedHosts, WebRefused

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host, as texts. Raises ``OSError``."""


async def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses the system knows of a host."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


class PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Resolves a name once, refuses what it must not lead to, and connects to what it does."""

    def __init__(self, hosts: ListedHosts, resolver: Resolver) -> None:
        self._hosts = hosts
        self._resolver = resolver
        self._plain = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  as the library has it
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """A connection to the first address that answers. Raises ``WebRefused`` and what the library raises."""
        try:
            addresses = await self._resolver(host, port)
        except OSError:
            raise WebRefused(f"is on {host}, which cannot be found") from None
        failure: Exception | None = None
        for address in self._hosts.check_reached(host, addresses):
            try:
                return await self._plain.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as reason:
                failure = reason
        assert failure is not None
        raise failure

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ARG002, ASYNC109  as the library has it
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore2.AsyncNetworkStream:
        raise WebRefused(f"is no address of a page: {path[:80]}")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def open_connections(hosts: ListedHosts, resolver: Resolver) -> httpcore2.AsyncConnectionPool:
    """Connections to listed hosts. No proxy is taken from the environment. Blocks: certificates take a while."""
    return httpcore2.AsyncConnectionPool(
        ssl_context=ssl.create_default_context(),
        max_connections=8,
        keepalive_expiry=5.0,
        network_backend=PinnedBackend(hosts, resolver),
    )
