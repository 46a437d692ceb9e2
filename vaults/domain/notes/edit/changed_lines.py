r"""Which lines of a text changed. Pure and linear: common text at both ends is compared in blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_SHOWN = 4_000
"""Max characters of a region that are returned: its middle is left out beyond that."""

_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class ChangedRegion:
    """Lines ``first_line`` to ``last_line`` of the new text, counted from 1. Where lines were only removed, ``text``
    is empty and ``last_line`` is the one before ``first_line``."""

    first_line: int
    last_line: int
    text: str


def find_changed_region(before: str, after: str) -> ChangedRegion:
    """From the first line that differs to the last. For equal texts: line 1, and no text."""
    head = _line_start(after, _common_prefix(before, after))
    limit = min(len(before), len(after)) - head
    tail = _common_suffix(before, after, limit)
    end = _line_end(after, len(after) - tail, head)
    first = 1 + _count_endings(after, 0, head)
    changed = after[head:end]
    return ChangedRegion(first, first + _count_lines(changed) - 1, shorten_middle(changed.rstrip("\r\n")))


def slice_lines(text: str, first: int, last: int) -> str:
    """Lines ``first`` to ``last`` of a text, counted from 1, shortened as in a region."""
    found = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)
    return shorten_middle("".join(found[first - 1 : last]).rstrip("\r\n"))


def shorten_middle(text: str) -> str:
    """Cut the middle out of a text of more than ``MAX_SHOWN`` characters."""
    if len(text) <= MAX_SHOWN:
        return text
    half = MAX_SHOWN // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters …]\n{text[-half:]}"


def _common_prefix(a: str, b: str) -> int:
    """How many characters both begin with."""
    size, at = min(len(a), len(b)), 0
    while at < size and a[at : at + _BLOCK] == b[at : at + _BLOCK] and at + _BLOCK <= size:
        at += _BLOCK
    low, high = at, min(at + _BLOCK, size)
    while low < high:
        middle = (low + high + 1) // 2
        if a[at:middle] == b[at:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_suffix(a: str, b: str, limit: int) -> int:
    """How many characters both end with, at most ``limit``."""
    at = 0
    while at + _BLOCK <= limit and _tail(a, at, at + _BLOCK) == _tail(b, at, at + _BLOCK):
        at += _BLOCK
    low, high = at, min(at + _BLOCK, limit)
    while low < high:
        middle = (low + high + 1) // 2
        if _tail(a, at, middle) == _tail(b, at, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _tail(text: str, near: int, far: int) -> str:
    """The text from ``far`` to ``near`` characters before the end."""
    return text[len(text) - far : len(text) - near]


def _line_start(text: str, at: int) -> int:
    if text[at - 1 : at + 1] == "\r\n":
        at -= 1
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _line_end(text: str, at: int, head: int) -> int:
    """The end of the line around ``at``, including its line ending; ``at`` itself where a line begins there."""
    if at <= head or at == len(text) or (text[at - 1] in "\r\n" and text[at - 1 : at + 1] != "\r\n"):
        return max(at, head)
    found = [place for sign in "\r\n" if (place := text.find(sign, at)) >= 0]
    if not found:
        return len(text)
    end = min(found)
    return end + (2 if text.startswith("\r\n", end) else 1)


def _count_endings(text: str, start: int, end: int) -> int:
    return text.count("\n", start, end) + text.count("\r", start, end) - text.count("\r\n", start, end)


def _count_lines(text: str) -> int:
    return _count_endings(text, 0, len(text)) + (1 if text and text[-1] not in "\r\n" else 0)
