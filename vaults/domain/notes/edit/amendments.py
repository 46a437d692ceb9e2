"""A change of one note as a tool asks for it: the pure step, and how the caller wants it done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

from vaults.graph.names.autolinks import AddedLink


@dataclass(frozen=True, slots=True)
class EditOptions:
    """``etag``: only if this version still stands there. ``keep_conflict``: where it does not, the caller's version is
    kept beside the note. ``wait``: answer when Git has the change. ``session``: handle of the caller's session."""

    tool: str
    etag: str | None = None
    dry_run: bool = False
    keep_conflict: bool = False
    wait: bool = False
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """A note's new text. ``summary``: what was done, for the history, to be followed by the note's name. ``written``:
    spans of it that the caller wrote, in which links may be set; ``linked``: those that were. The rest as in
    ``Changed``."""

    text: str
    summary: str
    warnings: list[str] = field(default_factory=list)
    region: str | None = None
    first_line: int | None = None
    last_line: int | None = None
    written: tuple[tuple[int, int], ...] = ()
    linked: tuple[AddedLink, ...] = ()


Revise = Callable[[str], Revision]
"""A pure step from a note's text to its new text."""


@dataclass(frozen=True, slots=True)
class NewNoteText:
    """What a note that is not there begins with. ``revise``: the pure step for it, if it is another one."""

    text: str = ""
    warnings: list[str] = field(default_factory=list)
    revise: Revise | None = None


StartFrom = Literal["note", "either", "nothing"]
"""What a change starts from: the note a path means; the note at exactly that path, or the beginning of one; or the
beginning of one, where none may be."""


async def blank_note() -> NewNoteText:
    """The beginning of most notes."""
    return NewNoteText()


@dataclass(frozen=True, slots=True)
class Amendment:
    """A change of one note. ``words``: what the caller wrote, which is kept of a change that cannot be made if nothing
    better can be. ``fresh``: asked where a note is begun. ``auto_link``: whether known names in what is written become
    links; None: as the settings say."""

    path: str
    revise: Revise
    words: str = ""
    start: StartFrom = "note"
    fresh: Callable[[], Awaitable[NewNoteText]] = blank_note
    auto_link: bool | None = None
