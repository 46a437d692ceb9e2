"""What the activity log stores about a call: fixed words, counts, ids and paths, never a text, a title or a query."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ActivityEntry:
    """What a tool reports about one of its calls."""

    type: str
    resource: str | None = None
    summary: str = ""
    threads: tuple[str, ...] = ()
    saved: int = 0
    """Tokens of the whole texts it quotes that an answer left out; below zero where it is longer than they are."""


@dataclass(frozen=True, slots=True)
class ActivityRecord:
    """One row of events. Tokens are estimated."""

    at: str
    session: str
    """The session's handle."""
    owner: str
    tool: str
    activity_entry: ActivityEntry
    outcome: str
    """``ok``, or the code of an error."""
    ms: float
    tokens_in: int
    tokens_out: int
    context: str | None = None
    """What was asked for; written only where the vault keeps it."""
