"""The part of a text that shows why it was found, and the words in it that matched. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from vaults.search.word_forms import TermMark, find_marks

SNIPPET_LENGTH = 700
"""Characters of a snippet."""

MIN_KEPT_SHARE = 0.8
"""Least share of a snippet to keep when it is cut back to a whole word."""

MAX_MARKS = 400
"""Matches considered in one text."""

_FENCE = re.compile(r"^[ \t>]{0,12}(`{3,8}|~{3,8})([^\n`]*)$", re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
_SENTENCE = re.compile(r"[.!?…][\"')\]*_”’]{0,3}\s+|[。！？]|\n")
_WORD = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class CodeFence:
    """A fenced code block, its fences included. ``end`` is the text's end if it is never closed."""

    start: int
    end: int
    mark: str


def make_snippet(text: str, terms: Sequence[str], length: int = SNIPPET_LENGTH) -> str:
    """At most ``length`` characters that hold as many different ``terms`` as possible, close together.

    Begins with the heading, paragraph, sentence or word before them, in this order of preference; … marks omitted text,
    and a code block that was cut is closed.
    """
    if len(text) <= length:
        return text
    fences = list(find_fences(text))
    frame = 3 + 2 * max((len(fence.mark) + 1 for fence in fences), default=0)  # "…\n", "…", a fence at either end
    room = max(1, length - frame)
    first, last = _densest_stretch(list(islice(find_marks(text, terms), MAX_MARKS)), room * 3 // 4)
    start = _find_start(text, first, last, room, fences)
    return _add_ellipses(text, start, _find_end(text, start, room, fences), fences)


def find_highlights(text: str, terms: Sequence[str], limit: int = 20) -> list[str]:
    """The different words of ``text``, as written there, that are a term or another form of it, in order."""
    found = dict.fromkeys(text[mark.start : mark.end] for mark in islice(find_marks(text, terms), MAX_MARKS))
    return list(found)[:limit]


def _densest_stretch(found: Sequence[TermMark], span: int) -> tuple[int, int]:
    """Start and end of the stretch of at most ``span`` with the most different terms: the tightest, then the first."""
    best, stretch = (0, 0), (0, 0)
    counts: dict[int, int] = {}
    left = 0
    for mark in found:
        counts[mark.term] = counts.get(mark.term, 0) + 1
        while found[left] is not mark and (counts[found[left].term] > 1 or mark.end - found[left].start > span):
            counts[found[left].term] -= 1
            if not counts[found[left].term]:
                del counts[found[left].term]
            left += 1
        start = found[left].start
        score = (len(counts), -((mark.end - start) // 40))
        if not best[0] or score > best:
            best, stretch = score, (start, mark.end)
    return stretch


def _find_start(text: str, first: int, last: int, room: int, fences: Sequence[CodeFence]) -> int:
    """A good place to begin, such that the text from ``first`` to ``last`` still fits into ``room``."""
    low = max(0, min(first - min(room // 2, room - (last - first)), len(text) - room))
    headings = [low + match.start() for match in _HEADING.finditer(text[low : first + 1])]
    headings = [
        place for place in headings if (low == 0 or text[place - 1] == "\n") and not find_enclosing_fence(place, fences)
    ]
    if headings:
        return _latest_start(headings, len(text) - room * 2 // 3)
    if low == 0:
        return 0
    for kind in (_PARAGRAPH, _SENTENCE):
        places = [low + match.end() for match in kind.finditer(text[low:first]) if low + match.end() <= first]
        if places:
            return _move_before_code(_latest_start(places, len(text) - room * 2 // 3), last - room, fences)
    near = max(low, first - room // 4)
    space = _WORD.search(text, near, first)
    return _move_before_code(space.end() if space else first, last - room, fences)


def _latest_start(places: Sequence[int], full: int) -> int:
    """The last of ``places`` with enough text after it, else the first of them."""
    return max((place for place in places if place <= full), default=places[0])


def _move_before_code(start: int, low: int, fences: Sequence[CodeFence]) -> int:
    fence = find_enclosing_fence(start, fences)
    return fence.start if fence and fence.start >= max(0, low) else start


def _find_end(text: str, start: int, room: int, fences: Sequence[CodeFence]) -> int:
    end = start + room
    if end >= len(text):
        return len(text)
    floor = start + int(room * MIN_KEPT_SHARE)
    fence = find_enclosing_fence(end, fences)
    if fence and fence.start >= floor:
        return fence.start
    space = max(text.rfind(" ", floor, end + 1), text.rfind("\n", floor, end + 1))
    return space if space >= 0 else end


def _add_ellipses(text: str, start: int, end: int, fences: Sequence[CodeFence]) -> str:
    opened, closed = find_enclosing_fence(start, fences), find_enclosing_fence(end, fences)
    before = (f"{opened.mark}\n" if opened else "") + ("…" if text[:start].strip() else "")
    if before.endswith("…") and text[start - 1] == "\n":
        before += "\n"  # a heading or list item is one only at the start of a line
    after = ("…" if text[end:].strip() else "") + (f"\n{closed.mark}" if closed and end < len(text) else "")
    return before + text[start:end].strip() + after


def find_enclosing_fence(place: int, fences: Sequence[CodeFence]) -> CodeFence | None:
    return next((fence for fence in fences if fence.start < place < fence.end), None)


def find_fences(text: str) -> Iterator[CodeFence]:
    if "```" not in text and "~~~" not in text:
        return
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opened is None:
            opened = line
        elif line[1].startswith(opened[1]) and not line[2].strip():
            yield CodeFence(opened.start(), line.end(), opened[1])
            opened = None
    if opened is not None:
        yield CodeFence(opened.start(), len(text), opened[1])
