r"""What each stretch of a note is: frontmatter, code, comment, or text to read.

Three strings as long as the note hold what the parsers read, so that no parser has to know what hides what:

- ``lines``: the note between two line endings, every line ending in it a ``\n``. Its offset *i* is the note's *i* - 1.
- ``linked``: frontmatter and code blanked out by :data:`FILL`. Comments stay: a link in one follows a renamed note.
- ``visible``: comments blanked out as well.

Rules that differ from CommonMark, all deliberately:

- Text that is code only by its indent counts as text. It is most often a list nested deeper than its parents say.
- HTML comments inside a paragraph end before a blank line or are none, as in CommonMark; so does ``%% … %%``, except
  one that begins a line, which may hold blank lines. A ``%%`` that is never closed is text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from vaults.markdown.blocks import find_blocks
from vaults.markdown.code_spans import find_code_and_comments
from vaults.markdown.encoding import to_lf_same_length
from vaults.markdown.frontmatter.parser import find_body_start

FILL = "\0"

StretchKind = Literal["frontmatter", "code", "comment"]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch by offsets in the note. Code in a comment or frontmatter is listed as well."""

    kind: StretchKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Scan:
    """A scanned note; for the three strings see the module."""

    lines: str
    linked: str
    visible: str
    body_start: int
    headings: Sequence[tuple[int, int, int]]  # level, offset of the first line's start, offset of the last line's end
    code: Sequence[tuple[int, int]]
    comments: Sequence[tuple[int, int]]

    def stretches(self) -> list[Stretch]:
        """All stretches that are not plain text, in order of their start."""
        found = [Stretch("code", start, end) for start, end in self.code]
        found += [Stretch("comment", start, end) for start, end in self.comments]
        if self.body_start:
            found.append(Stretch("frontmatter", 0, self.body_start))
        return sorted(found, key=lambda stretch: (stretch.start, -stretch.end))

    def is_code(self, offset: int) -> bool:
        """Whether the character at ``offset`` of the note is code: in a fence or between backticks."""
        at = bisect_right(self.code, (offset, len(self.lines))) - 1
        return at >= 0 and offset < self.code[at][1]


def scan(text: str) -> Scan:
    """Find the stretches of ``text``. Pure, linear, raises on no text."""
    lines = f"\n{to_lf_same_length(text)}\n"
    body_start = find_body_start(text, lines)
    found = find_blocks(lines, body_start)
    fences = [(0, body_start), *found.fences] if body_start else found.fences
    blocked = blank_out(lines, fences)
    spans, comments = find_code_and_comments(blocked, found.comments, [end for _, _, end in found.headings])
    linked = blank_out(blocked, spans)
    return Scan(
        lines=lines,
        linked=linked,
        visible=blank_out(linked, comments),
        body_start=body_start,
        headings=[(level, start, end - 1) for level, start, end in found.headings],
        code=sorted((start - 1, end - 1) for start, end in (*found.fences, *spans)),
        comments=[(start - 1, end - 1) for start, end in comments],
    )


def blank_out(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """``text`` with ``spans``, which are in order and do not overlap, replaced by :data:`FILL`."""
    parts: list[str] = []
    at = 0
    for start, end in spans:
        parts += (text[at:start], FILL * (end - start))
        at = end
    return "".join((*parts, text[at:])) if parts else text
