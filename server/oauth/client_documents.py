"""Clients whose id is the address of a document that describes them (draft-ietf-oauth-client-id-metadata-document).

The document is read from hosts the operator lists (``auth.client_hosts``), and from nowhere else: over https, at public
addresses, to which the very connection goes, without redirects, within bounds of size and time. An address is looked at
once an hour, and a minute after a look that failed; looks are counted by who causes them, and in all.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

import httpcore2
import structlog

from auth.oauth import clients
from auth.oauth.clients import Client
from auth.people.attempts import DOCUMENT, DOCUMENTS, Attempts
from vaults.db.transactions import Transactions
from vaults.listed_hosts import ListedHosts, WebAddress, WebRefused, parse_address
from vaults.web.pinned_connections import Resolver, open_connections, resolve

SIZE_LIMIT = 16 * 1024
TIMEOUT_S = 5.0
FRESH_S = 3600.0
"""Seconds a document is believed before it is read again."""

FAILED_S = 60.0
"""Seconds after a failure before the next attempt."""

REMEMBERED = 1000
_ADDRESS = re.compile(r"https://[A-Za-z0-9.-]+(:[0-9]{1,5})?/[!-~]{1,300}", re.ASCII)

_FAILURES = (
    WebRefused, ValueError, TimeoutError, OSError, RecursionError,
    httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException,
)  # fmt: skip
"""What may be wrong with a document or the way to it. ``OSError`` holds what TLS finds wrong, ``ValueError`` JSON."""

log = structlog.get_logger("server.oauth")


class ClientDocuments:
    """Reads and remembers them; ``hosts``: as in ``ingest.hosts``. Belongs to one event loop."""

    def __init__(self, hosts: ListedHosts, attempts: Attempts, resolver: Resolver = resolve) -> None:
        self._hosts, self._attempts, self._resolver = hosts, attempts, resolver
        self._next_look: dict[str, float] = {}
        self._one_at_a_time = asyncio.Lock()

    async def bring(self, client_id: str, control: Transactions, address: str, now: float) -> None:
        """Have the client of this address be known as its document describes it, if it does. One that was known stays
        as it was when the document cannot be read now."""
        if not is_document_address(client_id) or self._is_early(client_id, now):
            return
        async with self._one_at_a_time:
            if self._is_early(client_id, now) or self._is_too_much(address):
                return
            try:
                async with asyncio.timeout(TIMEOUT_S):
                    client = describe(client_id, await self._read(client_id))
            except _FAILURES as failure:
                self._wait(client_id, now, FAILED_S)
                log.warning("client_document_refused", reason=type(failure).__name__)
                return
            self._wait(client_id, now, FRESH_S)
            await control.write(lambda tx: clients.describe_again(tx, client, now))

    def _is_early(self, client_id: str, now: float) -> bool:
        return self._next_look.get(client_id, 0) > now

    def _is_too_much(self, address: str) -> bool:
        return bool(self._attempts.wait(DOCUMENT, address) or self._attempts.wait(DOCUMENTS, ""))

    def _wait(self, client_id: str, now: float, seconds: float) -> None:
        if len(self._next_look) >= REMEMBERED:
            self._next_look.clear()
        self._next_look[client_id] = now + seconds

    async def _read(self, client_id: str) -> bytes:
        address = parse_address(client_id)
        self._hosts.check(address)
        if address.url != client_id:
            raise ValueError("written in another way than it is asked for")
        connections = await asyncio.to_thread(open_connections, self._hosts, self._resolver)
        try:
            return await _download(connections, address)
        finally:
            await connections.aclose()


async def _download(connections: httpcore2.AsyncConnectionPool, address: WebAddress) -> bytes:
    headers = {"host": address.authority, "accept": "application/json", "accept-encoding": "identity"}
    async with connections.stream("GET", address.url, headers=list(headers.items())) as response:
        sent = {name.lower(): value for name, value in response.headers}
        if response.status != 200 or sent.get(b"content-encoding", b"identity") != b"identity":
            raise ValueError("no document")  # a redirect too
        if b"json" not in sent.get(b"content-type", b""):
            raise ValueError("no JSON")
        body = bytearray()
        async for chunk in response.aiter_stream():
            body += chunk
            if len(body) > SIZE_LIMIT:
                raise ValueError("too long")
        return bytes(body)


def is_document_address(client_id: str) -> bool:
    """Whether a client's id is an address a document may be at: https, with a path, written in one way only."""
    path = client_id.partition("://")[2].partition("/")[2]
    dotted = any(part in (".", "..") for part in path.partition("?")[0].split("/"))
    return _ADDRESS.fullmatch(client_id) is not None and not dotted and not set("#\\@") & set(client_id)


def describe(client_id: str, data: bytes) -> Client:
    """The client a document describes. Raises ``ValueError`` for one that describes another, or keeps a secret: what
    everybody can read holds none."""
    found: Mapping[str, Any] = json.loads(data)
    if not isinstance(found, dict) or found.get("client_id") != client_id:
        raise ValueError("describes another client")
    name, uris = found.get("client_name", ""), found.get("redirect_uris")
    if found.get("token_endpoint_auth_method", "none") != "none" or "client_secret" in found:
        raise ValueError("is no public client")
    if not isinstance(name, str) or not isinstance(uris, list) or not all(isinstance(each, str) for each in uris):
        raise ValueError("has no redirect URIs")
    return Client(client_id, name, tuple(uris), "none")
