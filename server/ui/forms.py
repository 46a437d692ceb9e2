"""What forms of pages hold, and reading it."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qsl

from starlette.datastructures import FormData
from starlette.requests import Request

MAX_FIELDS = 1000

SHORT = 16 * 1024
"""Bytes of a form that is read at once."""


class UnreadableForm(Exception):
    """It has more fields than any of ours."""


class FormReading:
    """Reads forms, the long ones one at a time on a thread. A megabyte of percent signs takes a second to read, anybody
    may send it before anybody asks who they are, and the event loop must not wait for it."""

    def __init__(self) -> None:
        self.turns = asyncio.Semaphore(1)
        """For other work on what a stranger sent."""

    async def read(self, request: Request) -> FormData:
        """The fields of a form without files; none where it is something else. Raises ``UnreadableForm``."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/x-www-form-urlencoded":
            return FormData()
        body = await request.body()
        if len(body) <= SHORT:
            return _parse(body)
        async with self.turns:
            return await asyncio.to_thread(_parse, body)


def _parse(body: bytes) -> FormData:
    try:
        fields = parse_qsl(body.decode("latin-1"), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise UnreadableForm(f"more than {MAX_FIELDS} fields") from None
    return FormData([(name, value) for name, value in fields])


def whole_number(text: str, digits: int) -> int | None:
    """The number somebody wrote in up to so many digits; None for anything else, which addresses and forms may hold."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


def text_field(form: FormData, name: str) -> str:
    """A field as it was typed, with line feeds alone; "" for one that is missing, or a file."""
    value = form.get(name)
    return value.replace("\r\n", "\n") if isinstance(value, str) else ""
