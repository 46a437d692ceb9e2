"""From hits to sections: which hits are neighbours in one text, and how much of the section around a match is shown.
Pure.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import TypeVar

from vaults.search.snippets import find_fences

T = TypeVar("T")

SECTION_LENGTH = 2_500
"""Max characters of a section that is shown for a hit."""

TURNS_APART = 3
"""Turns of a transcript up to which two of them are about one thing: as many as ``fetch`` reads on either side."""

PARTS_APART = 8
"""Parts of a document up to which equal headings are one section's; as many are read on either side."""

MARGIN = 4
"""Characters of the marks that say something was left out before and after."""

MIN_GAIN = 8
"""Min characters that a wider text must add: fewer are hardly more than the marks of what was left out."""

CHARACTERS_PER_TOKEN = 3
"""Characters a token mostly has at least: for how much text what is left of a budget may pay."""

_BREAK = re.compile(r"\n|(?<=[.!?…])[\"')\]*_”’]{0,3}[ \t]+|(?<=[。！？])")
_ROW = re.compile(r"^[ \t>]*\|", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class HitPlace:
    """Where a hit stands in its document. ``section``: its heading, else its page or the like."""

    kind: str
    document: str
    position: int
    section: str = ""

    @property
    def stretch(self) -> tuple[str, ...]:
        """What only neighbours have in common."""
        return (self.document,) if self.kind == "transcript" else (self.document, self.section)

    def adjoins(self, before: HitPlace) -> bool:
        """Whether it stands near enough to one of the same stretch before it."""
        apart = TURNS_APART if self.kind == "transcript" else PARTS_APART
        return self.position - before.position <= apart


@dataclass(frozen=True, slots=True)
class HitSection:
    """A section, and the stretch of it that matched: ``text[start:end]``."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NeighbourText:
    """What one of several neighbours says, and who says it."""

    position: int
    speaker: str
    text: str


def group_neighbours(places: Sequence[HitPlace | None]) -> list[list[int]]:
    """The numbers of ``places``, neighbours together. Groups are in order of their first number; what has no place
    stands alone."""
    groups = [[number] for number, place in enumerate(places) if place is None]
    stretches: dict[tuple[str, ...], list[tuple[HitPlace, int]]] = defaultdict(list)
    for number, place in enumerate(places):
        if place is not None:
            stretches[place.stretch].append((place, number))
    for stretch in stretches.values():
        stretch.sort(key=lambda pair: pair[0].position)
        near = [stretch[0][1]]
        for (before, _), (place, number) in pairwise(stretch):
            if not place.adjoins(before):
                groups.append(near)
                near = []
            near.append(number)
        groups.append(near)
    return sorted(sorted(group) for group in groups)


def join_neighbours(kind: str, texts: Sequence[NeighbourText]) -> str:
    """The texts in reading order. A turn of a transcript stands indented under a line that says whose it is, so that
    nothing said in it can pass for such a line."""
    ordered = sorted(texts, key=lambda each: each.position)
    if kind == "transcript":
        return "\n".join(f"[{each.position}] {_one_line(each.speaker)}\n{_indent(each.text)}" for each in ordered)
    beside = "\n" if kind == "code" else "\n\n"
    joined = ordered[0].text
    for before, after in pairwise(ordered):
        joined = joined.rstrip("\n") + (beside if after.position == before.position + 1 else "\n…\n") + after.text
    return joined


def _indent(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())


def _one_line(text: str) -> str:
    return " ".join(text.split())


def find_section(kind: str, text: str, bodies: Sequence[tuple[int, str]]) -> HitSection | None:
    """The section with all ``bodies``, its matching passages, each looked for from where its part begins; None where
    one of them is not in it."""
    starts = [text.find(body, begin) for begin, body in bodies]
    if not starts or min(starts) < 0:
        return None
    ends = [start + len(body) for start, (_, body) in zip(starts, bodies, strict=True)]
    return HitSection(kind, text, min(starts), max(ends))


def widen_text(section: HitSection, shown: str, length: int) -> str | None:
    """At most ``length`` characters of a section in place of what was shown of it; None where that says no more."""
    text = cut_section(section, length)
    return text if text is not None and len(text) >= len(shown) + MIN_GAIN else None


def widen_within(
    shown: Sequence[T],
    room: int,
    count_tokens: Callable[[T], int],
    length_of: Callable[[T], int | None],
    widen: Callable[[T, int], T | None],
) -> list[T]:
    """``shown`` with wider texts, best first, as far as ``room`` tokens for all of them allow. ``length_of``: the
    characters one shows; None: it cannot be widened. ``widen``: one with at most so many characters; None: it would
    say no more."""
    costs = list(map(count_tokens, shown))
    left, widened = room - sum(costs), list(shown)
    for number, each in enumerate(shown):
        if (length := length_of(each)) is None:
            continue
        for longer in _lengths_within(length, left):
            wider = widen(each, longer)
            if wider is not None and (cost := count_tokens(wider) - costs[number]) <= left:
                widened[number] = wider
                left -= cost
                break
    return widened


def _lengths_within(shown: int, left: int) -> list[int]:
    """The lengths worth trying where ``left`` tokens may be added to what is shown, the longest first."""
    if left <= 0:
        return []
    affordable = shown + left * CHARACTERS_PER_TOKEN
    return [SECTION_LENGTH] if affordable >= SECTION_LENGTH else [affordable, affordable * 3 // 4]


def cut_section(section: HitSection, length: int) -> str | None:
    """At most ``length`` characters of a section around its match, all of it where it fits. Cut at lines and sentences,
    never inside a code fence or the row of a table; None where nothing that short holds the match."""
    text = section.text
    if len(text) <= length:
        return text
    places = _find_breaks(section, length)
    low = places[bisect_right(places, section.start) - 1]
    high = places[bisect_left(places, section.end)]
    spare = length - MARGIN - (high - low)
    if spare < 0:
        return None
    # What follows a match explains it more often than what comes before.
    low = _first_from(places, low - spare // 3, low)
    high = _last_up_to(places, low + length - MARGIN, high)
    low = _first_from(places, high - length + MARGIN, low)
    before, after = text[:low].strip(), text[high:].strip()
    return ("…\n" if before else "") + text[low:high].strip() + ("\n…" if after else "")


def _first_from(places: Sequence[int], at: int, most: int) -> int:
    return min(places[bisect_left(places, max(0, at))], most)


def _last_up_to(places: Sequence[int], at: int, least: int) -> int:
    return max(places[bisect_right(places, at) - 1], least)


def _find_breaks(section: HitSection, length: int) -> list[int]:
    """Where the text may be cut, in order, its ends among them: between lines, of prose between sentences as well.
    Nothing further than ``length`` from the match is looked at: a section can be as long as a book."""
    text = section.text
    since = text.rfind("\n", 0, max(0, section.start - length)) + 1
    until = min(len(text), section.end + length)
    if section.kind == "code":
        return [0, *(place + 1 for place in _find_all(text, "\n", since, until)), len(text)]
    near = takewhile(lambda fence: fence.start < until, find_fences(text))
    fences = [(fence.start, fence.end) for fence in near if fence.end > since]
    rows = [_line_of(text, row.end()) for row in _ROW.finditer(text, since, until)]
    places = [match.end() for match in _BREAK.finditer(text, since, until)]
    kept = [place for place in places if not _is_inside(place, fences) and not _is_inside(place, rows)]
    return [0, *kept, len(text)]


def _find_all(text: str, mark: str, since: int, until: int) -> Iterator[int]:
    place = text.find(mark, since, until)
    while place >= 0:
        yield place
        place = text.find(mark, place + 1, until)


def _line_of(text: str, place: int) -> tuple[int, int]:
    end = text.find("\n", place)
    return text.rfind("\n", 0, place) + 1, end if end >= 0 else len(text)


def _is_inside(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether one of the spans, which are in order and do not overlap, holds the place between its ends."""
    number = bisect_left(spans, (place, 0)) - 1
    return number >= 0 and place < spans[number][1]
