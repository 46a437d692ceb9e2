"""How long ago something was, in words."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

_STEPS = ((60, "s"), (60, "m"), (24, "h"), (365, "d"))


def format_age(at: str, now: str) -> str:
    """How long ago, in one unit; ``now`` for the future and the last minute."""
    try:
        left = (_parse_moment(now) - _parse_moment(at)).total_seconds()
    except ValueError:
        return at
    if left < 60:
        return "now"
    for step, unit in _STEPS:
        if left < step:
            return f"{int(left)}{unit} ago"
        left /= step
    return f"{int(left)}y ago"


@lru_cache(4096)
def _parse_moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
