"""Caches answers to ``tools/list`` and ``prompts/list`` as bytes: a list of tools costs the SDK as much as forty calls,
and is always the same.

The key is everything an answer can depend on: the caller's view, every header the transport looks at, and the whole
body but its id. Any other difference makes another key, so a hit is what the SDK would have answered.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

from starlette.types import Message, Scope, Send

from server.call import AnswerForm
from server.caller_views import View
from server.http.request_body import JsonBody

CACHE_SIZE = 256
MAX_ANSWER_BYTES = 1 << 20
"""Max bytes of one cached answer."""

_METHODS = ("tools/list", "prompts/list")
"""Listings that depend on nothing but the view."""

_METHODS_AS_JSON = tuple(f'"{method}"'.encode() for method in _METHODS)
_BODY_LIMIT = 16_384
_SIMPLE_ID = re.compile(r"[ !#-\[\]-~]{0,200}", re.ASCII)
"""Ids that every JSON encoder writes alike. Requests with others are left to the SDK."""


@dataclass(frozen=True, slots=True)
class ListingRequest:
    """A request for a listing. ``id`` is the request's id as JSON."""

    key: Hashable
    id: bytes


@dataclass(frozen=True, slots=True)
class CachedListing:
    """A cached answer. ``after`` is the body after the id."""

    headers: tuple[tuple[bytes, bytes], ...]
    after: bytes


def parse_listing_request(scope: Scope, view: tuple[View, AnswerForm], body: JsonBody) -> ListingRequest | None:
    """The request, or None for anything but a plain listing."""
    if len(body.data) > _BODY_LIMIT or not any(method in body.data for method in _METHODS_AS_JSON):
        return None
    message = body.document
    if not isinstance(message, dict) or message.get("method") not in _METHODS:
        return None
    request_id = _encode_id(message.get("id"))
    if request_id is None:
        return None
    rest = _without_id(body.data, request_id)
    if rest is None:
        return None
    headers = tuple(
        (name, value)
        for name, value in scope["headers"]
        if name.startswith(b"mcp-") or name in (b"accept", b"content-type")
    )
    return ListingRequest((view, headers, rest), request_id)


def _without_id(body: bytes, request_id: bytes) -> tuple[bytes, bytes] | None:
    """The request before and after its id, byte for byte. None if what looks like the id occurs twice, or never."""
    for written in (b'"id":' + request_id, b'"id": ' + request_id):
        before, found, after = body.partition(written)
        if found:
            return None if written in after else (before, after)
    return None


def _encode_id(request_id: object) -> bytes | None:
    if isinstance(request_id, str) and _SIMPLE_ID.fullmatch(request_id):
        return f'"{request_id}"'.encode()
    if type(request_id) is int and abs(request_id) < 2**53:
        return str(request_id).encode()
    return None


class ListingCache:
    """Bounded, least recently used first out. One per process, on its event loop."""

    def __init__(self, size: int = CACHE_SIZE) -> None:
        self._size = size
        self._answers: OrderedDict[Hashable, CachedListing] = OrderedDict()

    def knows(self, request: ListingRequest) -> bool:
        """Whether the answer is cached."""
        return request.key in self._answers

    async def answer(self, request: ListingRequest, send: Send) -> bool:
        """Answer from the cache; False: nothing is cached."""
        known = self._answers.get(request.key)
        if known is None:
            return False
        self._answers.move_to_end(request.key)
        body = _answer_prefix(request) + known.after
        headers = [*known.headers, (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        return True

    def recording(self, request: ListingRequest, send: Send) -> Send:
        """A ``send`` that passes everything on, and keeps a whole, successful JSON answer."""
        started: list[Message] = []

        async def record(message: Message) -> None:
            if message["type"] == "http.response.start":
                started.append(message)
            elif started and not message.get("more_body", False):
                self._keep(request, started.pop(), message.get("body", b""))
            else:
                started.clear()  # in pieces: a stream
            await send(message)

        return record

    def _keep(self, request: ListingRequest, start: Message, body: bytes) -> None:
        headers = tuple((name, value) for name, value in start["headers"] if name != b"content-length")
        whole = start["status"] == 200 and (b"content-type", b"application/json") in headers
        before = _answer_prefix(request)
        # An answer that begins otherwise is an error, or written by an SDK that orders keys differently.
        if (
            whole
            and body.startswith(before)
            and b'"result"' in body[len(before) : len(before) + 12]
            and len(body) < MAX_ANSWER_BYTES
        ):
            self._answers[request.key] = CachedListing(headers, body[len(before) :])
            while len(self._answers) > self._size:
                self._answers.popitem(last=False)


def _answer_prefix(request: ListingRequest) -> bytes:
    return b'{"jsonrpc":"2.0","id":' + request.id
