"""Dates as files write them, as RFC 3339 in UTC."""

from __future__ import annotations

import re
from datetime import date, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from vaults import clock

_PDF = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([+-]\d\d)'?(\d\d)?)?")


def to_moment(value: Any) -> str | None:
    """A date, or date and time, as a value of Python, in ISO 8601, or as mail and PDF write it. None for anything else.
    Without a zone it counts as UTC."""
    try:
        if isinstance(value, datetime):
            return clock.to_text(value)
        if isinstance(value, date):
            return clock.to_text(datetime(value.year, value.month, value.day))  # noqa: DTZ001  to_text takes UTC
        return _from_text(value.strip()) if isinstance(value, str) else None
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def _from_text(text: str) -> str | None:
    if not text or len(text) > 100:
        return None
    if text.startswith("D:"):
        return _from_pdf(text)
    try:
        return clock.to_text(datetime.fromisoformat(text))
    except ValueError:
        return clock.to_text(parsedate_to_datetime(text))


def _from_pdf(text: str) -> str | None:
    found = _PDF.match(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, _, hours, minutes = found.groups()
    zone = f"{hours}:{minutes or '00'}" if hours else "+00:00"
    written = f"{year}-{month or '01'}-{day or '01'}T{hour or '00'}:{minute or '00'}:{second or '00'}{zone}"
    return clock.to_text(datetime.fromisoformat(written))
