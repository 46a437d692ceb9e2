r"""The blocks of a long text, found from an edit outwards where it differs little from one that was read lately.

At a heading ``# …`` in the first column nothing is open: no fence, comment, list or quote reaches across it. So between
the last such heading before an edit and the first one after it the text is read again, and if that one is a heading
still, what was found outside holds. Only ``%%`` and ``<`` may begin something whose end, or lack of one, lies anywhere:
where one stands near the edit, the whole text is read.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock

from vaults.markdown.blocks import BlockSpans, find_blocks

LONG = 64 * 1024
"""Characters from which a text is remembered: a shorter one is read in less than a millisecond."""

REMEMBERED = 2
"""Texts remembered in a process, at most: an edit reads the same note twice, and the next edit begins with it."""

_PIECE = 1 << 15


@dataclass(frozen=True, slots=True)
class ReadText:
    """A text as ``find_blocks`` takes it, and what that found."""

    text: str
    start: int
    found: BlockSpans


@dataclass(frozen=True, slots=True)
class _Headings:
    """The borders around an edit, by their number; None: the beginning or the end of the text."""

    above: int | None
    below: int | None


_recent: deque[ReadText] = deque(maxlen=REMEMBERED)
_turn = Lock()


def find_blocks_again(text: str, start: int) -> BlockSpans:
    """What ``find_blocks`` finds, in less time where a similar text was read lately. Nobody may change it."""
    if len(text) < LONG:
        return find_blocks(text, start)
    with _turn:
        known = list(_recent)
    same = next((each for each in known if each.start == start and each.text == text), None)
    if same is not None:
        return same.found
    near = (find_after_edit(each, text, start) for each in reversed(known))
    found = next((each for each in near if each is not None), None) or find_blocks(text, start)
    with _turn:
        _recent.append(ReadText(text, start, found))
    return found


def find_after_edit(before: ReadText, text: str, start: int) -> BlockSpans | None:
    """What ``find_blocks`` finds in ``text``, from what it found in another. None where that does not tell it."""
    if start != before.start:
        return None
    head = _common_start(before.text, text)
    tail = _common_end(before.text, text, min(len(before.text), len(text)) - head)
    around = _find_borders(before, head, len(before.text) - tail)
    shift = len(text) - len(before.text)
    headings = before.found.headings
    first = start if around.above is None else headings[around.above][1]
    last = len(before.text) - 1 if around.below is None else headings[around.below][2]
    if head <= start or (last + 1 - first) * 2 > len(before.text):
        return None
    was, part = before.text[first : last + 1], text[first : last + shift + 1]
    if any(sign in each for each in (was, part) for sign in ("%%", "<")):
        return None
    read = find_blocks(part, 0)
    if around.below is not None and not _ends_with(read, headings[around.below], first - shift):
        return None
    return _join(before.found, read, (first, last, shift))


def _find_borders(before: ReadText, head: int, tail: int) -> _Headings:
    """The headings in the first column nearest to ``text[head:tail]`` that lie outside with their lines' ends."""
    headings = before.found.headings
    place = bisect_left(headings, head, key=lambda each: each[2])
    above = next((number for number in range(place - 1, -1, -1) if _is_border(before.text, headings[number])), None)
    place = bisect_left(headings, tail, key=lambda each: each[1])
    below = next((number for number in range(place, len(headings)) if _is_border(before.text, headings[number])), None)
    return _Headings(above, below)


def _is_border(text: str, heading: tuple[int, int, int]) -> bool:
    """Whether it is a line of its own that begins with ``#``: not an underlined one."""
    _, start, end = heading
    return text.startswith("#", start + 1) and text.find("\n", start + 1, end) < 0


def _ends_with(read: BlockSpans, border: tuple[int, int, int], back: int) -> bool:
    """Whether the last heading of a part is this one, ``back`` characters further on in the text before."""
    level, start, end = border
    return bool(read.headings) and read.headings[-1] == (level, start - back, end - back)


def _join(old: BlockSpans, read: BlockSpans, part: tuple[int, int, int]) -> BlockSpans:
    """The blocks before ``first``, those read from there on, and those after ``last``, moved by ``shift``."""
    first, last, shift = part
    return BlockSpans(
        _join_spans(old.fences, read.fences, part),
        _join_spans(old.comments, read.comments, part),
        [
            *(each for each in old.headings if each[1] < first),
            *((level, start + first, end + first) for level, start, end in read.headings),
            *((level, start + shift, end + shift) for level, start, end in old.headings if start >= last),
        ],
    )


def _join_spans(
    old: Iterable[tuple[int, int]], read: Iterable[tuple[int, int]], part: tuple[int, int, int]
) -> list[tuple[int, int]]:
    first, last, shift = part
    known = list(old)
    return [
        *(each for each in known if each[0] < first),
        *((start + first, end + first) for start, end in read),
        *((start + shift, end + shift) for start, end in known if start >= last),
    ]


def _common_start(one: str, other: str) -> int:
    """How many characters both begin with."""
    size, at, step = min(len(one), len(other)), 0, _PIECE
    while step:
        while at + step <= size and one[at : at + step] == other[at : at + step]:
            at += step
        step //= 2
    return at


def _common_end(one: str, other: str, most: int) -> int:
    """How many characters both end with, at most ``most``."""
    at, step = 0, _PIECE
    while step:
        while at + step <= most and _before_end(one, at, step) == _before_end(other, at, step):
            at += step
        step //= 2
    return at


def _before_end(text: str, at: int, length: int) -> str:
    """The ``length`` characters that stand ``at`` characters before the end."""
    end = len(text) - at
    return text[end - length : end]
