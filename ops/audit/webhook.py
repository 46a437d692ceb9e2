"""Entries as JSON lines, posted to an address that the operator configured."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ops.audit.entries import StoredEntry
from ops.audit.export_formats import to_line
from vaults.endpoint_client import open_client

if TYPE_CHECKING:
    import httpx2

SEND_S = 30.0


class WebhookReceiver:
    """An HTTP server that answers 2xx for what it took. It may get entries twice: chain and number tell."""

    name = "webhook"

    def __init__(self, url: str, token_file: str | None) -> None:
        self._url = url
        self._token_file = token_file
        self._client: httpx2.AsyncClient | None = None

    async def send(self, chain: str, entries: Sequence[StoredEntry]) -> None:
        """Send entries in order. Raises ``OSError``, also for an answer that is no 2xx."""
        if self._client is None:
            self._client = await asyncio.to_thread(self._open)
        body = "".join(f"{to_line(each)}\n" for each in entries).encode()
        sent = {"content-type": "application/x-ndjson", "x-strongroom-chain": chain}
        import httpx2

        try:
            async with asyncio.timeout(SEND_S):
                answer = await self._client.post(self._url, content=body, headers=sent)
            if not answer.is_success:
                raise OSError(f"answered {answer.status_code}")
        except httpx2.HTTPError as failure:
            await self.close()
            raise OSError(type(failure).__name__) from failure
        except OSError:
            await self.close()  # the next try reads the token again: it may have been replaced
            raise

    def _open(self) -> httpx2.AsyncClient:
        headers = {}
        if self._token_file is not None:
            headers["authorization"] = f"Bearer {Path(self._token_file).read_text(encoding='utf-8').strip()}"
        return open_client(self._url, headers)

    async def close(self) -> None:
        """Close its connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None
