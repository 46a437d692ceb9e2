"""Cursors of listings: the last row of a page, by the value it was ordered by and its ``seq``."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from vaults.domain.text.fields import clean
from vaults.errors import InvalidArgument


def encode(listing: str, value: Any, number: int) -> str:
    """The cursor for what follows a row. ``listing`` names the listing it belongs to."""
    return (
        base64.urlsafe_b64encode(json.dumps([listing, value, number], ensure_ascii=False).encode()).decode().rstrip("=")
    )


def decode(cursor: str, listing: str) -> tuple[Any, int]:
    """Value and ``seq`` of the last row. Raises ``InvalidArgument`` for a cursor of another listing, or no cursor at
    all."""
    try:
        kept, value, number = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if kept == listing and type(number) is int and abs(number) < 2**63 and _is_sortable(value):
            return value, number
    except (ValueError, binascii.Error, TypeError, RecursionError):
        pass
    raise InvalidArgument("cursor", "is not one this listing gave", hint="start again without a cursor")


def _is_sortable(value: object) -> bool:
    if isinstance(value, str):
        return clean(value) == value
    return type(value) is int and abs(value) < 2**63
