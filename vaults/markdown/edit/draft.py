"""The request for an edit, its result, and the draft that the steps pass along."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from vaults.markdown.edit.outline import Outline

_EMPTY_OUTLINE = Outline(0)

EditAction = Literal["add", "remove", "replace"]
ContentFormat = Literal["plain", "bullet", "task", "numbered", "timestamp-bullet"]
Guardrails = Literal["warn", "strict", "off"]


@dataclass(frozen=True, slots=True)
class TextEdit:
    """One change of one note.

    ``add`` puts ``content`` into the section's own text, that is before its first sub-heading: at its end, or with
    ``position`` ``prepend`` right after the heading. Without ``section``: at the end of the note, or at the start of
    its body, after the frontmatter. Items appended to a section that ends in a list continue the list and its numbers.
    Anything else is separated by a blank line if Markdown would otherwise read it as part of what is there.

    ``remove`` removes whole lines: those that ``search`` (or ``content``, if ``search`` is not given) or ``pattern``
    touches. Lines below a list item stay. Without either, it removes ``section`` altogether: heading, text and
    sub-sections; to empty a section and keep its heading, replace it with nothing.

    ``replace`` puts ``replacement`` (or ``content``) exactly where ``search`` or ``pattern`` matches, unformatted.
    Without either, ``content`` replaces the section's own text; heading and sub-sections stay.

    ``search`` and ``pattern`` cover the section with its sub-sections, but not its heading; without a section,
    everything but the frontmatter. ``\\n`` in them stands for any line ending. ``pattern`` is RE2; ``^`` and ``$``
    match at line ends, and its replacement may use ``\\0`` to ``\\9``.

    ``guardrails``: ``warn`` repairs what it can and says so, ``strict`` refuses instead, ``off`` takes the content as
    it is. No setting lets an edit touch the frontmatter.
    """

    action: EditAction
    section: str | None
    content: str | None
    position: Literal["append", "prepend"] = "append"
    format: ContentFormat = "plain"
    search: str | None = None
    pattern: str | None = None
    replacement: str | None = None
    occurrence: Literal["first", "last", "all"] = "first"
    guardrails: Guardrails = "warn"
    preserve_nesting: bool = True
    """Appended items become siblings of the list's last item, however deep it is; otherwise of its top level."""
    create_section: bool = False
    """``add`` creates a missing section: at the end of the note, or of a parent (``Parent > Heading``)."""

    @property
    def searches(self) -> bool:
        return self.search is not None or self.pattern is not None


@dataclass(frozen=True, slots=True)
class EditedText:
    """``first_line`` to ``last_line`` are the changed lines of the new ``text``, from 1, and ``region`` is their text,
    shortened if long. If lines were only removed, ``region`` is empty and ``last_line`` is the one before
    ``first_line``."""

    text: str
    first_line: int
    last_line: int
    warnings: list[str]
    region: str
    written: tuple[tuple[int, int], ...] = ()
    """Spans of ``text`` that the edit wrote."""


@dataclass(frozen=True, slots=True)
class Splice:
    """``text[start:end]`` becomes ``new``; its line endings are already those of the note."""

    start: int
    end: int
    new: str


@dataclass(frozen=True, slots=True)
class EditScope:
    """Where the edit happens, in offsets. The whole note has level 0, starts after the frontmatter and owns
    everything."""

    level: int
    start: int
    body: int  # after the heading's line
    own_end: int  # before the first sub-heading
    end: int  # before the next heading of the same or a higher level
    title: str = ""


@dataclass(frozen=True, slots=True)
class ListItem:
    """A list item as written: ``indent`` in front of ``marker`` (``-``, ``*``, ``+``, ``.`` or ``)``)."""

    indent: str
    marker: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class InsertionPoint:
    """Where a block goes in, and what it has to fit."""

    at: int
    item: ListItem | None = None
    """The list item it becomes a sibling of, if it is a list itself."""
    loose: bool = False
    """Blank lines separate the items of that list."""
    before: str = ""
    """Kind of the line before it: see ``insertion_points.line_kind``."""
    after: str = ""
    unit: str = ""
    """Indent of the list's nested items."""


@dataclass(frozen=True, slots=True)
class EditDraft:
    """An edit under way; each step fills in more. ``content`` has ``\\n`` for line endings until it is placed."""

    edit: TextEdit
    now: datetime
    text: str
    content: str = ""
    outline: Outline = _EMPTY_OUTLINE
    scope: EditScope = EditScope(0, 0, 0, 0, 0)
    heading: str = ""
    """Heading line of a section to create."""
    point: InsertionPoint = InsertionPoint(0)
    splices: tuple[Splice, ...] = ()
    result: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def is_block(self) -> bool:
        """Whether the content goes in as lines of its own, rather than replacing matched text."""
        return self.edit.action == "add" or (self.edit.action == "replace" and not self.edit.searches)
