"""Times as other systems write them, brought to RFC 3339 in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from vaults import clock

UNITS = ((10**17, 1e9), (10**14, 1e6), (10**11, 1e3))
"""From which number on it counts nano-, micro- or milliseconds, and how many make a second: no second of our time is
that large."""

_NUMBER = re.compile(r"-?\d{9,19}(\.\d+)?")  # shorter ones are years and dates without dashes


def to_rfc3339(value: Any) -> str | None:
    """A time from seconds, milli-, micro- or nanoseconds since 1970 or from ISO 8601 with or without a zone (then UTC);
    None for what is no time of the years 1 to 9999."""
    try:
        found = _from_number(float(value)) if _is_number(value) else datetime.fromisoformat(str(value).strip())
    except (ValueError, OverflowError, OSError):
        return None
    try:
        return clock.to_text(found)
    except (ValueError, OverflowError):
        return None


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return _NUMBER.fullmatch(value.strip()) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def _from_number(number: float) -> datetime:
    unit = next((unit for least, unit in UNITS if abs(number) >= least), 1.0)
    return datetime.fromtimestamp(number / unit, UTC)
