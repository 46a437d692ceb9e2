"""From hits to sections: which hits are neighbours in one text, and how much of the section around a match is shown.
Pure.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from vaults.search.snippets import find_enclosing_fence, find_fences

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
    joined = ordered[0].text
    for before, after in pairwise(ordered):
        joined += "\n\n" if after.position == before.position + 1 else "\n…\n"
        joined += after.text
    return joined


def _indent(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())


def _one_line(text: str) -> str:
    return " ".join(text.split())


def find_section(kind: str, text: str, bodies: Sequence[str]) -> HitSection | None:
    """The section with all ``bodies``, its matching passages; None where one of them is not in it."""
    starts = [text.find(body) for body in bodies]
    if not starts or min(starts) < 0:
        return None
    ends = [start + len(body) for start, body in zip(starts, bodies, strict=True)]
    return HitSection(kind, text, min(starts), max(ends))


def widen_text(section: HitSection, shown: str, length: int) -> str | None:
    """At most ``length`` characters of a section in place of what was shown of it; None where that says no more."""
    text = cut_section(section, length)
    return text if text is not None and len(text) >= len(shown) + MIN_GAIN else None


def lengths_within(shown: str, left: int) -> list[int]:
    """The lengths worth trying where ``left`` tokens may be added to what is shown, the longest first."""
    if left <= 0:
        return []
    affordable = len(shown) + left * CHARACTERS_PER_TOKEN
    return [SECTION_LENGTH] if affordable >= SECTION_LENGTH else [affordable, affordable * 3 // 4]


def cut_section(section: HitSection, length: int) -> str | None:
    """At most ``length`` characters of a section around its match, all of it where it fits. Cut at lines and sentences,
    never inside a code fence or the row of a table; None where nothing that short holds the match."""
    text = section.text
    if len(text) <= length:
        return text
    places = _find_breaks(section)
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


def _find_breaks(section: HitSection) -> list[int]:
    """Where the text may be cut, in order, its ends among them: between lines, of prose between sentences as well."""
    text = section.text
    if section.kind == "code":
        return [0, *(place + 1 for place in _find_all(text, "\n")), len(text)]
    fences = list(find_fences(text))
    rows = [_line_of(text, row.end()) for row in _ROW.finditer(text)] if "|" in text else []
    places = [match.end() for match in _BREAK.finditer(text)]
    kept = [place for place in places if not find_enclosing_fence(place, fences) and not _is_inside(place, rows)]
    return [0, *kept, len(text)]


def _find_all(text: str, mark: str) -> Iterator[int]:
    place = text.find(mark)
    while place >= 0:
        yield place
        place = text.find(mark, place + 1)


def _line_of(text: str, place: int) -> tuple[int, int]:
    end = text.find("\n", place)
    return text.rfind("\n", 0, place) + 1, end if end >= 0 else len(text)


def _is_inside(place: int, rows: Sequence[tuple[int, int]]) -> bool:
    number = bisect_right(rows, (place, len(rows) and rows[-1][1])) - 1
    return number >= 0 and rows[number][0] < place < rows[number][1]
