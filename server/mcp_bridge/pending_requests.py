"""Which requests of a connection still wait for their answer.

When stdin ends, the SDK drops what is running. A script that writes its requests and closes the pipe still wants the
answers, so the end is passed on only when every request is answered, or after ``SETTLE_S``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

Message = Mapping[str, Any]

SETTLE_S = 10.0
"""Seconds to wait for the last answers after the input ended."""

_ANSWER = '{"jsonrpc":"2.0","id":'
_DECODER = json.JSONDecoder()


def parse_message(line: bytes) -> Message:
    """The fields of a message that matter here; empty if the line is no message. Any thread."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(message, dict):
        return {}
    if _may_be_half(line) and not _is_unicode(message):
        return {"method": None, "id": message.get("id"), "cancelled": None, "refused": True}
    params = message.get("params")
    cancelled = params.get("requestId") if isinstance(params, dict) else None
    return {"method": message.get("method"), "id": message.get("id"), "cancelled": cancelled}


def _may_be_half(line: bytes) -> bool:
    return b"\\ud" in line or b"\\uD" in line  # a lone surrogate can be written in no other way


def _is_unicode(message: object) -> bool:
    try:
        json.dumps(message, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def not_unicode_error(request_id: object) -> str:
    """The answer to a message that is not valid Unicode: the SDK would drop it silently."""
    error = {
        "code": -32700,
        "message": "Parse error: a string holds half of a surrogate pair, which is no Unicode text",
    }
    return json.dumps(
        {"jsonrpc": "2.0", "id": request_id if isinstance(request_id, str | int) else None, "error": error}
    )


class PendingRequests:
    """Ids received and not yet answered. ``at_end`` ends what would never end by itself."""

    def __init__(self, at_end: Callable[[], None]) -> None:
        self._at_end = at_end
        self._ids: set[str | int] = set()
        self._none = asyncio.Event()
        self._none.set()

    def received(self, message: Message) -> None:
        """Note a message that came in."""
        if message.get("method") == "notifications/cancelled":
            self._forget(message["cancelled"])  # may never be answered
        elif message.get("method") is not None and isinstance(message["id"], str | int):
            self._ids.add(message["id"])
            self._none.clear()

    def sent(self, text: str) -> None:
        """Note a message that went out."""
        if text.startswith(_ANSWER):
            self._forget(_DECODER.raw_decode(text, len(_ANSWER))[0])

    async def wait_until_answered(self) -> None:
        """Wait until every request is answered, or ``SETTLE_S`` have passed."""
        self._at_end()
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_S):
                await self._none.wait()

    def _forget(self, request_id: object) -> None:
        if isinstance(request_id, str | int):
            self._ids.discard(request_id)
        if not self._ids:
            self._none.set()
