"""Reads only the headings and fences of a note, which is all that finding a section needs. Pure, linear.

An edit of one line in five megabytes has 60 ms: a full parse of the note would take many times that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from vaults.markdown.edit.line_endings import skip_ending_before
from vaults.markdown.edited_blocks import find_blocks_again
from vaults.markdown.encoding import to_lf_same_length
from vaults.markdown.frontmatter.parser import find_body_start
from vaults.markdown.lines import LineCounter
from vaults.markdown.parser import Heading, ParsedNote, heading_text

_OPENING = re.compile(r"[^\n`~]*(`{3,}|~{3,})")
_CLOSED = re.compile(r"\n[ \t>]*(`{3,}|~{3,})[ \t]*\Z")


class HeadingMark(NamedTuple):
    """A heading: ``start`` and ``end`` are the offsets of its lines, the line ending included."""

    level: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Outline:
    """The headings and code blocks of a note."""

    body_start: int
    marks: tuple[HeadingMark, ...] = ()
    fences: tuple[tuple[int, int], ...] = ()
    """Offsets of code blocks, their fences included."""
    open_fence: int | None = None
    """Where a code fence starts that nothing closes before the end of the note."""

    def note(self, text: str) -> ParsedNote:
        """A parsed note with headings alone, as ``sections`` takes it."""
        counter = LineCounter(f"\n{to_lf_same_length(text)}\n")
        headings = tuple(
            Heading(mark.level, mark.text, counter.line(mark.start), mark.start, skip_ending_before(text, mark.end))
            for mark in self.marks
        )
        return ParsedNote(body_start=self.body_start, headings=headings)


def read_outline(text: str) -> Outline:
    """Read the outline of ``text``. Never raises. Offsets are in ``text``, whatever its line endings."""
    view = (
        f"\n{to_lf_same_length(text)}\n"  # the offset of a line feed here is that of the next line's start in the text
    )
    body, size = find_body_start(text, view), len(text)
    found = find_blocks_again(view, body)
    marks = tuple(
        HeadingMark(level, start, min(end, size), heading_text(view[start + 1 : end]))
        for level, start, end in found.headings
    )
    fences = tuple((start - 1, min(end - 1, size)) for start, end in found.fences)
    return Outline(body, tuple(marks), fences, _open_fence(view, found.fences))


def _open_fence(view: str, fences: list[tuple[int, int]]) -> int | None:
    if not fences or fences[-1][1] < len(view) - 1:
        return None
    start, end = fences[-1]
    opening = _OPENING.match(view, start)
    if opening is None:
        return None  # code in HTML tags
    last = view.rfind("\n", start, end)
    closing = _CLOSED.match(view, last, end) if last > 0 else None
    return None if closing and closing[1].startswith(opening[1]) else start - 1
