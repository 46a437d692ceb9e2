"""Durations (``30d``, ``1w``, ``1y``) and sizes (``500MB``) as people write them. Pure.

One number, one unit, nothing else: ``1d12h`` or a bare ``30`` would leave room for two readings. ``m`` is minutes and
nothing else: months are ``mo``, of 30 days, and a year has 365.
"""

from __future__ import annotations

import re

SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "mo": 2_592_000, "y": 31_536_000}
BYTES = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
"""KB, MB, GB are decimal, KiB, MiB, GiB binary; case does not matter."""

# [0-9], not \d: \d also takes digits of other scripts. Nine digits keep every result far inside 64 bits.
_DURATION = re.compile(r"([0-9]{1,9})(mo|[smhdwy])", re.ASCII)
_SIZE = re.compile(r"([0-9]{1,9}) ?([kmgt]?i?b)", re.ASCII | re.IGNORECASE)


def parse_duration(text: str) -> int:
    """Seconds. Raises ``ValueError`` with a message fit for the person who wrote it."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError("must be a whole number with one unit of s, m, h, d, w, mo, y, such as 90s, 30d or 1w")
    return int(match[1]) * SECONDS[match[2]]


def format_duration(seconds: int) -> str:
    """The shortest exact spelling: ``parse_duration`` gives the same number back."""
    if seconds < 0:
        raise ValueError("must not be negative")
    for unit in ("w", "d", "h", "m"):
        if seconds and seconds % SECONDS[unit] == 0:
            return f"{seconds // SECONDS[unit]}{unit}"
    return f"{seconds}s"


def parse_size(text: str) -> int:
    """Bytes. Raises ``ValueError`` with a message fit for the person who wrote it."""
    match = _SIZE.fullmatch(text)
    unit = match[2].lower() if match else ""
    if match is None or unit not in BYTES:
        raise ValueError("must be a whole number with a unit such as 500MB, 2GB or 64KiB")
    return int(match[1]) * BYTES[unit]
