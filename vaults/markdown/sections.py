"""Sections of a note, and finding one by what a caller calls it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vaults.errors import InvalidArgument, NotFound
from vaults.markdown.fuzzy import nearest
from vaults.markdown.link_resolution import folded
from vaults.markdown.parser import Heading, Note

CLOSEST = 5
LISTED = 50
"""Headings an error names at most."""

COMPARED, MOST = 300, 5_000
"""Characters of a heading, and headings, that are compared with one that is not there."""

_MARKS = re.compile(r"[*_`~=\[\]]+")
_ARROW = re.compile(r"[ \t]+[>›][ \t]+")  # the second is how search hits write it
_LEVEL = re.compile(r"(#{1,6})[ \t]+(?=\S)")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it, to the next heading of its level or a higher one.

    Offsets: ``start`` of the heading's line, ``body_start`` of the line after it, ``end`` where the next begins.
    """

    heading: Heading
    start: int
    end: int
    body_start: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the outline: a heading and the headings it lies under, outermost first."""

    heading: Heading
    parents: tuple[str, ...]


def outline(note: Note) -> list[Entry]:
    """Every heading, in order."""
    entries: list[Entry] = []
    above: list[Heading] = []
    for heading in note.headings:
        while above and above[-1].level >= heading.level:
            above.pop()
        entries.append(Entry(heading, tuple(parent.text for parent in above)))
        above.append(heading)
    return entries


def sections(text: str, note: Note) -> list[Section]:
    """Every section, in order of its heading."""
    ends = [len(text)] * len(note.headings)
    open_: list[int] = []
    for index, heading in enumerate(note.headings):
        while open_ and note.headings[open_[-1]].level >= heading.level:
            ends[open_.pop()] = heading.start
        open_.append(index)
    return [
        Section(heading, heading.start, end, _after_line(text, heading.end))
        for heading, end in zip(note.headings, ends, strict=True)
    ]


def find(text: str, note: Note, wanted: str) -> Section:
    """The first section called ``wanted`` (:func:`all_matching`). Raises :class:`NotFound` with the closest headings.

    A read may take the first of several; a write asks for :func:`find_one`.
    """
    return _found(text, note, wanted)[0]


def find_one(text: str, note: Note, wanted: str) -> Section:
    """The only section called ``wanted``. Several raise :class:`InvalidArgument`, which names their lines."""
    found = _found(text, note, wanted)
    if len(found) > 1:
        lines = ", ".join(str(section.heading.line) for section in found[:LISTED])
        raise InvalidArgument(
            "section",
            f"names {len(found)} headings, at lines {lines}",
            hint="Say which: `Parent > Heading`, `## Heading` with its level, or rename one.",
        )
    return found[0]


def all_matching(text: str, note: Note, wanted: str) -> list[Section]:
    """The sections called ``wanted``, by the first reading of it that fits any.

    Readings: the heading's text as written; ``## Text`` at that level; ``Parent > Text``, where headings between may be
    left out. Each is tried exactly, then without regard to case, runs of blanks and emphasis marks.
    """
    wanted = wanted.strip()
    for form in (str.strip, normalised):
        names = [form(heading.text) for heading in note.headings]
        fitting = _by_text(names, form(wanted)) or _by_level(note, names, wanted, form)
        fitting = fitting or _by_path(note, wanted, form)
        if fitting:
            known = sections(text, note)
            return [known[index] for index in fitting]
    return []


def normalised(name: str) -> str:
    """A heading's words without case, emphasis marks and brackets, and with single blanks."""
    return " ".join(folded(_MARKS.sub("", name)).split())


def _by_text(names: Sequence[str], wanted: str) -> list[int]:
    return [index for index, name in enumerate(names) if name == wanted] if wanted else []


def _by_level(note: Note, names: Sequence[str], wanted: str, form: Callable[[str], str]) -> list[int]:
    marks = _LEVEL.match(wanted)
    if marks is None:
        return []
    level, name = len(marks[1]), form(wanted[marks.end() :])
    return [index for index in _by_text(names, name) if note.headings[index].level == level]


def _by_path(note: Note, wanted: str, form: Callable[[str], str]) -> list[int]:
    parts = [_LEVEL.sub("", part) for part in _ARROW.split(wanted)]
    if len(parts) < 2:
        return []
    *parents, last = [form(part) for part in parts]
    return [
        index
        for index, entry in enumerate(outline(note))
        if form(entry.heading.text) == last and _lies_under([form(parent) for parent in entry.parents], parents)
    ]


def _lies_under(above: Sequence[str], parents: Sequence[str]) -> bool:
    """Whether ``parents`` are among ``above``, in that order."""
    rest = iter(above)
    return all(any(name == parent for name in rest) for parent in parents)


def _found(text: str, note: Note, wanted: str) -> list[Section]:
    found = all_matching(text, note, wanted)
    if found:
        return found
    headings = [f"{'#' * heading.level} {heading.text}" for heading in note.headings[:LISTED]]
    closest = closest_headings(note, wanted)
    if not note.headings:
        raise NotFound("The note has no headings.", hint="Read or edit it as a whole.", closest=[], headings=[])
    hint = f"Did you mean {', '.join(repr(name) for name in closest[:3])}?" if closest else "See `headings`."
    raise NotFound(f"No section {wanted.strip()[:200]!r} in the note.", hint=hint, closest=closest, headings=headings)


def closest_headings(note: Note, wanted: str) -> list[str]:
    """The headings most like ``wanted``, best first."""
    from rapidfuzz import fuzz

    name = normalised(_LEVEL.sub("", _ARROW.split(wanted.strip()[:COMPARED])[-1]))
    choices = [heading.text[:COMPARED] for heading in note.headings[:MOST]]
    best = nearest(name, [normalised(each) for each in choices], fuzz.WRatio, limit=CLOSEST * 4, least=50)
    return list(dict.fromkeys(choices[place] for _, _, place in best))[:CLOSEST]


def _after_line(text: str, end: int) -> int:
    if text.startswith("\r\n", end):
        return end + 2
    return min(end + 1, len(text))
