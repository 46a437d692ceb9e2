"""Entries as syslog messages, RFC 5424."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import urlsplit

from ops.audit.entries import StoredEntry
from ops.audit.export_formats import to_line
from vaults import clock

AUDIT_NOTICE = 13 * 8 + 5
"""Facility "log audit", severity "notice"."""

UDP_BYTES = 8192
"""Bytes of a datagram at most; a longer message is cut, and its hash tells what it was."""

READ_BYTES = 4096

SEND_S = 10.0
"""Seconds for a batch, with the end of its connection."""


def to_message(chain: str, entry: StoredEntry, host: str) -> bytes:
    """One message. Times and names are ours; nothing in it can begin another."""
    head = f"<{AUDIT_NOTICE}>1 {_moment(entry)} {host} strongroom {os.getpid()} audit"
    return f'{head} [strongroom@32473 chain="{chain}" seq="{entry.seq}"] {to_line(entry)}'.encode()


def _moment(entry: StoredEntry) -> str:
    try:
        return clock.to_text(datetime.fromtimestamp(entry.at / 1000, UTC))
    except (ValueError, OverflowError, OSError):  # forged
        return "-"


class SyslogReceiver:
    """A syslog server. Over TCP messages are framed by their length (RFC 6587). It answers nothing, so each batch has a
    connection of its own, which we end and the server ends after it: had it died with something unread, the connection
    would be reset. Over UDP nobody says what arrived."""

    name = "syslog"

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._udp = parts.scheme == "udp"
        self._host, self._port = parts.hostname or "", parts.port or 0

    async def send(self, chain: str, entries: Sequence[StoredEntry]) -> None:
        """Send entries in order. Raises ``OSError`` or ``TimeoutError``."""
        host = socket.gethostname() or "-"
        messages = [to_message(chain, each, host) for each in entries]
        async with asyncio.timeout(SEND_S):
            await (self._send_datagrams(messages) if self._udp else self._send_stream(messages))

    async def _send_datagrams(self, messages: Sequence[bytes]) -> None:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(
            asyncio.DatagramProtocol, remote_addr=(self._host, self._port)
        )
        try:
            for each in messages:
                transport.sendto(each[:UDP_BYTES])
        finally:
            transport.close()

    async def _send_stream(self, messages: Sequence[bytes]) -> None:
        reader, writer = await asyncio.open_connection(self._host, self._port)
        try:
            for each in messages:
                writer.write(b"%d %s" % (len(each), each))
                await writer.drain()
            writer.write_eof()
            while await reader.read(READ_BYTES):  # until it ends: it has read everything then
                pass
        finally:
            writer.close()

    async def close(self) -> None:
        """Nothing is held open between two batches."""
