"""What others wrote, as the text of a tool tells it."""

from __future__ import annotations

from typing import Protocol

from vaults.domain.text.sanitize import one_line

LONGEST = 500
"""Characters told of a title: as many as it may have."""


def told(text: str, most: int = LONGEST) -> str:
    """In one line, with nothing hidden in it: it must not pass for a line of ours."""
    return one_line(text, most)


ONLY_SHOWN = "Only shown, nothing is written: call again with dry_run false."

SO_ALREADY = "Nothing to change: it is so already."


class _Outcome(Protocol):
    @property
    def changed(self) -> bool | None: ...

    @property
    def diff(self) -> str | None: ...


def became(found: _Outcome) -> str:
    """What a call that changes notes did: wrote, showed what it would write, or found everything so already."""
    if found.changed:
        return "Written."
    return ONLY_SHOWN if found.diff else SO_ALREADY
