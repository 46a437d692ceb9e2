"""What the ledger writes down about a call. Words of ours, counts, ids and paths: never a text, a title or a query."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ActivityEntry:
    """What a tool says of one of its calls. ``saved``: tokens a pack left out of what it was made of."""

    type: str
    resource: str | None = None
    summary: str = ""
    threads: tuple[str, ...] = ()
    saved: int = 0


@dataclass(frozen=True, slots=True)
class ActivityRecord:
    """One row of events. ``session`` is a handle; tokens are estimated; ``outcome`` is ok or the code of an error."""

    at: str
    session: str
    owner: str
    tool: str
    activity_entry: ActivityEntry
    outcome: str
    ms: float
    tokens_in: int
    tokens_out: int
    context: str | None = None
