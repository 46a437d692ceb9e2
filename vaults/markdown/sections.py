"""Sections of a note, and finding one by the name a caller gives."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vaults.errors import InvalidArgument, NotFound
from vaults.markdown.fuzzy import find_nearest
from vaults.markdown.link_resolution import fold_name
from vaults.markdown.parser import Heading, ParsedNote

MAX_CLOSEST = 5
MAX_LISTED = 50
"""Most similar headings, and headings in all, that an error names."""

MAX_COMPARED, MAX_HEADINGS = 300, 5_000
"""Characters of a heading, and headings, that are compared with one that was not found."""

_MARKS = re.compile(r"[*_`~=\[\]]+")
_ARROW = re.compile(r"[ \t]+[>›][ \t]+")  # the second is how search hits write it
_LEVEL = re.compile(r"(#{1,6})[ \t]+(?=\S)")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it, up to the next heading of its level or a higher one.

    Offsets: ``start`` of the heading's line, ``body_start`` of the line after it, ``end`` where the next begins.
    """

    heading: Heading
    start: int
    end: int
    body_start: int


@dataclass(frozen=True, slots=True)
class OutlineHeading:
    """A line of the outline: a heading and the headings it lies under, outermost first."""

    heading: Heading
    parents: tuple[str, ...]


def list_outline(note: ParsedNote) -> list[OutlineHeading]:
    """Every heading, in order."""
    entries: list[OutlineHeading] = []
    above: list[Heading] = []
    for heading in note.headings:
        while above and above[-1].level >= heading.level:
            above.pop()
        entries.append(OutlineHeading(heading, tuple(parent.text for parent in above)))
        above.append(heading)
    return entries


def list_sections(text: str, note: ParsedNote) -> list[Section]:
    """Every section, in order of its heading."""
    ends = [len(text)] * len(note.headings)
    open_: list[int] = []
    for index, heading in enumerate(note.headings):
        while open_ and note.headings[open_[-1]].level >= heading.level:
            ends[open_.pop()] = heading.start
        open_.append(index)
    return [
        Section(heading, heading.start, end, _skip_line_ending(text, heading.end))
        for heading, end in zip(note.headings, ends, strict=True)
    ]


def find_section(text: str, note: ParsedNote, wanted: str) -> Section:
    """The first section called ``wanted`` (:func:`find_sections`). Raises :class:`NotFound` with the closest headings.

    A read may take the first of several; a write uses :func:`find_only_section`.
    """
    return _find_or_raise(text, note, wanted)[0]


def find_only_section(text: str, note: ParsedNote, wanted: str) -> Section:
    """The only section called ``wanted``. Several raise :class:`InvalidArgument`, which names their lines."""
    found = _find_or_raise(text, note, wanted)
    if len(found) > 1:
        lines = ", ".join(str(section.heading.line) for section in found[:MAX_LISTED])
        raise InvalidArgument(
            "section",
            f"names {len(found)} headings, at lines {lines}",
            hint="Say which: `Parent > Heading`, `## Heading` with its level, or rename one.",
        )
    return found[0]


def find_sections(text: str, note: ParsedNote, wanted: str) -> list[Section]:
    """The sections called ``wanted``, by the first reading of it that fits any.

    Readings: the heading's text as written; ``## Text`` at that level; ``Parent > Text``, where headings in between may
    be left out. All are tried exactly first, then ignoring case, runs of blanks and emphasis marks.
    """
    wanted = wanted.strip()
    for form in (str.strip, normalize_heading):
        names = [form(heading.text) for heading in note.headings]
        fitting = _match_text(names, form(wanted)) or _match_level(note, names, wanted, form)
        fitting = fitting or _match_path(note, wanted, form)
        if fitting:
            known = list_sections(text, note)
            return [known[index] for index in fitting]
    return []


def normalize_heading(name: str) -> str:
    """A heading's words without case, emphasis marks and brackets, and with single blanks."""
    return " ".join(fold_name(_MARKS.sub("", name)).split())


def _match_text(names: Sequence[str], wanted: str) -> list[int]:
    return [index for index, name in enumerate(names) if name == wanted] if wanted else []


def _match_level(note: ParsedNote, names: Sequence[str], wanted: str, form: Callable[[str], str]) -> list[int]:
    marks = _LEVEL.match(wanted)
    if marks is None:
        return []
    level, name = len(marks[1]), form(wanted[marks.end() :])
    return [index for index in _match_text(names, name) if note.headings[index].level == level]


def _match_path(note: ParsedNote, wanted: str, form: Callable[[str], str]) -> list[int]:
    parts = [_LEVEL.sub("", part) for part in _ARROW.split(wanted)]
    if len(parts) < 2:
        return []
    *parents, last = [form(part) for part in parts]
    return [
        index
        for index, entry in enumerate(list_outline(note))
        if form(entry.heading.text) == last and _lies_under([form(parent) for parent in entry.parents], parents)
    ]


def _lies_under(above: Sequence[str], parents: Sequence[str]) -> bool:
    """Whether ``above`` holds all ``parents``, in that order."""
    rest = iter(above)
    return all(any(name == parent for name in rest) for parent in parents)


def _find_or_raise(text: str, note: ParsedNote, wanted: str) -> list[Section]:
    found = find_sections(text, note, wanted)
    if found:
        return found
    headings = [f"{'#' * heading.level} {heading.text}" for heading in note.headings[:MAX_LISTED]]
    closest = find_closest_headings(note, wanted)
    if not note.headings:
        raise NotFound("The note has no headings.", hint="Read or edit it as a whole.", closest=[], headings=[])
    hint = f"Did you mean {', '.join(repr(name) for name in closest[:3])}?" if closest else "See `headings`."
    raise NotFound(f"No section {wanted.strip()[:200]!r} in the note.", hint=hint, closest=closest, headings=headings)


def find_closest_headings(note: ParsedNote, wanted: str) -> list[str]:
    """The headings most like ``wanted``, best first."""
    from rapidfuzz import fuzz

    name = normalize_heading(_LEVEL.sub("", _ARROW.split(wanted.strip()[:MAX_COMPARED])[-1]))
    choices = [heading.text[:MAX_COMPARED] for heading in note.headings[:MAX_HEADINGS]]
    best = find_nearest(
        name, [normalize_heading(each) for each in choices], fuzz.WRatio, limit=MAX_CLOSEST * 4, least=50
    )
    return list(dict.fromkeys(choices[place] for _, _, place in best))[:MAX_CLOSEST]


def _skip_line_ending(text: str, end: int) -> int:
    if text.startswith("\r\n", end):
        return end + 2
    return min(end + 1, len(text))
