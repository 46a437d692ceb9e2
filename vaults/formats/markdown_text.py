"""Markdown: a part per section, under the headings above it; frontmatter says title, author and dates."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from vaults.formats.heading_path import HeadingPath
from vaults.formats.moments import to_moment
from vaults.formats.parsed_document import ParsedDocument, ParsedPart, ParseLimits
from vaults.formats.part_cutting import cut_lines
from vaults.formats.part_limits import clean_line, take_parts
from vaults.formats.plain_text import describe_lines
from vaults.formats.text_encoding import read_text
from vaults.markdown.edit.outline import HeadingMark, Outline, read_outline
from vaults.markdown.frontmatter.parser import parse_frontmatter

_AUTHOR = ("author", "authors", "creator")
_CREATED = ("created", "date", "published")
_MODIFIED = ("modified", "updated", "lastmod")


def parse(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse Markdown. Frontmatter that cannot be read is named in the warnings."""
    warnings: list[str] = []
    text = read_text(data, limits, warnings)
    outline = read_outline(text)
    loaded = parse_frontmatter(text[: outline.body_start])
    values = loaded.values
    if loaded.error:
        warnings.append(f"frontmatter: {loaded.error}")
    return ParsedDocument(
        format="markdown",
        mime="text/markdown",
        parts=take_parts(_find_parts(text, outline), limits, warnings),
        title=clean_line(_find_text(values, ("title",))) or _find_title(outline),
        author=clean_line(_find_text(values, _AUTHOR)),
        created_at=_find_moment(values, _CREATED),
        modified_at=_find_moment(values, _MODIFIED),
        warnings=tuple(warnings),
        metadata={"tags": tags} if (tags := _find_tags(values)) else {},
    )


def _find_parts(text: str, outline: Outline) -> Iterator[ParsedPart]:
    path = HeadingPath()
    starts = [*outline.marks, HeadingMark(0, len(text), len(text), "")]
    line = 1 + text.count("\n", 0, outline.body_start)
    yield from _cut_section(text[outline.body_start : starts[0].start], line, None)
    at = outline.body_start
    for mark, after in pairwise(starts):
        path.enter(mark.level, mark.text)
        end = mark.end
        line, at = line + text.count("\n", at, end), end
        body = text[end : after.start]
        if not body.strip() and after.level <= mark.level:
            body, shown = mark.text, line - 1  # a heading that nothing stands under is all there is to find
        else:
            shown = line
        yield from _cut_section(body, shown, path.text)


def _cut_section(body: str, first_line: int, heading: str | None) -> Iterator[ParsedPart]:
    for piece in cut_lines(body.split("\n"), first_line):
        yield ParsedPart(piece.text, heading=heading, locator=describe_lines(piece))


def _find_title(outline: Outline) -> str | None:
    """The first heading of level 1."""
    return clean_line(next((mark.text for mark in outline.marks if mark.level == 1), None))


def _find_text(values: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        value = values.get(key)
        if isinstance(value, list):
            value = ", ".join(str(each) for each in value[:20] if isinstance(each, str | int))
        if isinstance(value, str | int | float) and not isinstance(value, bool) and str(value).strip():
            return str(value)
    return None


def _find_moment(values: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((moment for key in keys if (moment := to_moment(values.get(key)))), None)


def _find_tags(values: dict[str, Any]) -> list[str]:
    tags = values.get("tags")
    listed = tags if isinstance(tags, list) else tags.replace(",", " ").split() if isinstance(tags, str) else []
    return [line for each in listed[:100] if (line := clean_line(str(each)))]
