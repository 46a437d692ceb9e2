"""Entries as syslog messages, RFC 5424."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

from ops.audit.entries import StoredEntry
from ops.audit.export_formats import to_line

AUDIT_NOTICE = 13 * 8 + 5
"""Facility "log audit", severity "notice"."""

UDP_BYTES = 8192
"""Bytes of a datagram at most; a longer message is cut, and its hash tells what it was."""

SEND_S = 10.0


def to_message(chain: str, entry: StoredEntry, host: str) -> bytes:
    """One message. Times and names are ours; nothing in it can begin another."""
    at = entry.body[entry.body.index('"at":"') + 6 :].partition('"')[0]
    head = f"<{AUDIT_NOTICE}>1 {at} {host} strongroom {os.getpid()} audit"
    return f'{head} [strongroom@32473 chain="{chain}" seq="{entry.seq}"] {to_line(entry)}'.encode()


class SyslogReceiver:
    """A syslog server. Over TCP messages are framed by their length (RFC 6587); over UDP nobody says what arrived."""

    name = "syslog"

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._udp = parts.scheme == "udp"
        self._host, self._port = parts.hostname or "", parts.port or 0
        self._writer: asyncio.StreamWriter | None = None
        self._reader: asyncio.StreamReader | None = None

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
        if self._writer is None or self._reader is None or self._reader.at_eof() or self._writer.is_closing():
            await self.close()
            self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        try:
            for each in messages:
                self._writer.write(b"%d %s" % (len(each), each))
            await self._writer.drain()
        except OSError:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the connection."""
        writer, self._writer, self._reader = self._writer, None, None
        if writer is not None:
            writer.close()
