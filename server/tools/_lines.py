"""What others wrote, as the text of a tool tells it."""

from __future__ import annotations

from vaults.domain.disarming import one_line

LONGEST = 500
"""Characters told of a title: as many as it may have."""

SAID = 2_000
"""Characters told of what somebody said of their work."""


def told(text: str, most: int = LONGEST) -> str:
    """In one line, with nothing hidden in it: it must not pass for a line of ours."""
    return one_line(text, most)
