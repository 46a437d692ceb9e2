"""Parses a note's text into its parts. Pure, linear in the text, and raises on no text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from vaults import heap
from vaults.markdown.edited_blocks import find_blocks_again
from vaults.markdown.encoding import to_lf_same_length
from vaults.markdown.frontmatter.parser import find_body_start, parse_frontmatter
from vaults.markdown.frontmatter.values import ParsedFrontmatter
from vaults.markdown.lines import LineCounter, iter_matches
from vaults.markdown.link import Link
from vaults.markdown.links import find_links
from vaults.markdown.scan import Scan, scan
from vaults.markdown.tags import drop_case_duplicates, find_inline_tags, parse_names, parse_tags
from vaults.markdown.tasks import Task, find_tasks

__all__ = ["BlockAnchor", "Heading", "Link", "ParsedNote", "Task", "parse"]


@dataclass(frozen=True, slots=True)
class Heading:
    """``text`` as written, without its marks. ``start``/``end``: its line or lines, without the line ending."""

    level: int
    text: str
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class BlockAnchor:
    """A ``^name`` at the end of a line; offsets are of the mark and the name."""

    name: str
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ParsedNote:
    """The parts of a note."""

    title: str | None = None
    """The frontmatter's, else the only heading of level 1 if the body begins with it."""
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    frontmatter: dict[str, Any] = field(default_factory=dict)
    """Values that JSON can hold."""
    frontmatter_error: str | None = None
    """Why the frontmatter could not be read (it is empty then), or which of its keys are repeated."""
    body_start: int = 0
    headings: tuple[Heading, ...] = ()
    links: tuple[Link, ...] = ()
    tasks: tuple[Task, ...] = ()
    blocks: tuple[BlockAnchor, ...] = ()
    created: str | None = None
    """The frontmatter's ``created`` or ``date``, as written."""


_BLOCK = re.compile(r"\^(?<=\s\^)([A-Za-z0-9-]++)[ \t]*+(?=\n)")


def parse(text: str) -> ParsedNote:
    """Parse a note. Offsets are in ``text``."""
    with heap.pause_full_collections(len(text)):
        return _parse(text)


def _parse(text: str) -> ParsedNote:
    found = scan(text)
    note = _parse_outline(found, text)
    linked = tuple(find_links(found, text))
    return replace(
        note,
        tags=drop_case_duplicates([*note.tags, *find_inline_tags(found.visible, linked)]),
        links=linked,
        tasks=tuple(find_tasks(found, text, note.headings)),
        blocks=tuple(_find_anchors(found)),
    )


def parse_outline(text: str) -> ParsedNote:
    """Frontmatter and headings as ``parse`` reads them, without links, tasks and the like: a tenth of its time.
    ``tags`` are those of the frontmatter alone."""
    with heap.pause_full_collections(len(text)):
        return _parse_outline(_scan_outline(text), text)


def parse_outline_unnumbered(text: str) -> ParsedNote:
    """As ``parse_outline``, for those who do not ask in which line a heading stands: each says 0. To count them takes
    as long as to find the headings of an edited note."""
    with heap.pause_full_collections(len(text)):
        found = _scan_outline(text)
        headings = tuple(
            Heading(level, heading_text(found.lines[start + 1 : end + 1]), 0, start, _end(text, start, end))
            for level, start, end in found.headings
        )
        return _to_outline(found, text, headings)


def _scan_outline(text: str) -> Scan:
    lines = f"\n{to_lf_same_length(text)}\n"
    body_start = find_body_start(text, lines)
    headings = [(level, start, end - 1) for level, start, end in find_blocks_again(lines, body_start).headings]
    return Scan(lines=lines, linked="", visible="", body_start=body_start, headings=headings, code=[], comments=[])


def _parse_outline(scan: Scan, text: str) -> ParsedNote:
    return _to_outline(scan, text, tuple(_headings(scan, text)))


def _to_outline(scan: Scan, text: str, headings: tuple[Heading, ...]) -> ParsedNote:
    loaded = parse_frontmatter(text[: scan.body_start]) if scan.body_start else ParsedFrontmatter()
    values = loaded.values
    return ParsedNote(
        title=_text(values.get("title")) or _first_title(scan, headings),
        aliases=drop_case_duplicates(parse_names(values.get("aliases", values.get("alias")))),
        tags=drop_case_duplicates(parse_tags(values.get("tags", values.get("tag")))),
        frontmatter=values,
        frontmatter_error=loaded.error,
        body_start=scan.body_start,
        headings=headings,
        created=_text(values.get("created")) or _text(values.get("date")),
    )


def _text(value: Any) -> str | None:
    """A scalar as text; None for an empty value, a bool, a list or a mapping."""
    if isinstance(value, bool) or value is None or isinstance(value, list | dict):
        return None
    return str(value).strip() or None


def _headings(scan: Scan, text: str) -> Iterator[Heading]:
    counter = LineCounter(scan.lines)
    for level, start, end in scan.headings:
        yield Heading(
            level, heading_text(scan.lines[start + 1 : end + 1]), counter.line(start), start, _end(text, start, end)
        )


def _end(text: str, start: int, end: int) -> int:
    r"""``end`` without the first character of a ``\r\n``, which ``Scan.lines`` shows as a blank."""
    return end - 1 if end > start and text[end - 1] == "\r" and text[end : end + 1] == "\n" else end


def heading_text(written: str) -> str:
    """The words of a heading as written, without ``#`` before and after, or the underline."""
    return _known_heading_text(written) if len(written) <= SHORT_HEADING else _heading_text(written)


SHORT_HEADING, MAX_HEADINGS = 120, 8_192
"""Characters of a heading whose words are remembered, and how many are, at most: an edit reads each heading of a note
four times, and all but one are those of the edit before."""


def _heading_text(written: str) -> str:
    written = written.strip(" \t\n")
    if not written.startswith("#") or "\n" in written:
        return " ".join(line.strip(" \t") for line in written.split("\n")[:-1])
    words = written.lstrip("#").strip(" \t")
    bare = words.rstrip("#")
    return bare.rstrip(" \t") if not bare or bare[-1] in " \t" else words


_known_heading_text = lru_cache(MAX_HEADINGS)(_heading_text)


def _first_title(scan: Scan, headings: tuple[Heading, ...]) -> str | None:
    if not headings or headings[0].level != 1 or any(each.level == 1 for each in headings[1:]):
        return None  # with several, each is a section, and the note is named by its file
    before = scan.lines[scan.body_start + 1 : headings[0].start + 1]
    return headings[0].text or None if not before.strip() else None


def _find_anchors(scan: Scan) -> Iterator[BlockAnchor]:
    counter = LineCounter(scan.lines)
    for match in iter_matches(_BLOCK, scan.visible):
        start = match.start() - 1
        yield BlockAnchor(match[1], counter.line(start), start, match.end(1) - 1)
