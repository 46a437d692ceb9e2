"""A change to one note as a tool requests it: the pure step, and the caller's options for carrying it out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

from vaults.graph.names.autolinks import AddedLink


@dataclass(frozen=True, slots=True)
class EditOptions:
    """How a tool's caller wants a change carried out."""

    tool: str
    etag: str | None = None  # only if the note is still at this version
    dry_run: bool = False
    keep_conflict: bool = False  # if it is not, save the caller's version in a file next to the note
    wait: bool = False  # answer only once Git has the change
    session: str | None = None  # handle of the caller's session


@dataclass(frozen=True, slots=True)
class Revision:
    """A note's new text, and what changed in it. Region and lines are those of ``ChangedRegion``."""

    text: str
    summary: str  # what was done, for the history; the note's name follows it
    warnings: list[str] = field(default_factory=list)
    region: str | None = None
    first_line: int | None = None
    last_line: int | None = None
    written: tuple[tuple[int, int], ...] = ()  # spans the caller wrote, where links may be set
    linked: tuple[AddedLink, ...] = ()  # links that were set in them


Revise = Callable[[str], Revision]
"""A pure step from a note's text to its new text."""


@dataclass(frozen=True, slots=True)
class NewNoteText:
    """The initial text of a note that does not exist yet. ``revise``: replaces the amendment's pure step for it."""

    text: str = ""
    warnings: list[str] = field(default_factory=list)
    revise: Revise | None = None


StartFrom = Literal["note", "either", "nothing"]
"""What a change starts from: the note a path means; the note at exactly that path, or a new one; or a new one only,
where no note may exist."""


async def blank_note() -> NewNoteText:
    """Start with an empty text, as most notes do."""
    return NewNoteText()


@dataclass(frozen=True, slots=True)
class Amendment:
    """A change to one note."""

    path: str
    revise: Revise
    words: str = ""  # what the caller wrote: saved on a conflict if the whole note cannot be
    start: StartFrom = "note"
    fresh: Callable[[], Awaitable[NewNoteText]] = blank_note  # the initial text, if the note is new
    auto_link: bool | None = None  # turn known names in written text into links; None: as the settings say
