"""JSON and JSON Lines: keys and values as lines of text, a part per stretch of members or items."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from vaults.formats import plain_text
from vaults.formats.number_ranges import describe_range
from vaults.formats.parsed_document import ParsedDocument, ParsedPart, ParseFailed, ParseLimits
from vaults.formats.part_cutting import cut_text
from vaults.formats.part_limits import take_parts
from vaults.formats.text_encoding import read_text

RANGE_CHARACTERS = 4_000
"""Characters after which a stretch of small items ends."""

MIME = "application/json"


def parse(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse JSON, or a value per line. What is neither is read as text, and said to be."""
    warnings: list[str] = []
    text = read_text(data, limits, warnings)
    try:
        parts = _cut_value(load_json(text), limits)
    except ValueError:
        items, bad = _load_lines(text)
        if not items or bad > len(items):
            parsed = plain_text.parse(data, limits)
            said = "no valid JSON: read as text"
            return ParsedDocument("json", MIME, parsed.parts, warnings=(said, *parsed.warnings))
        if bad:
            warnings.append(f"{bad} lines are no valid JSON, and were left out")
        parts = _cut_items(items, "line", limits)
    return ParsedDocument("json", MIME, take_parts(parts, limits, warnings), warnings=tuple(warnings))


def load_json(text: str) -> Any:
    """The value, numbers as written. Raises ``ValueError`` for what is no JSON, and ``ParseFailed`` where it is nested
    deeper than any parser goes."""
    try:
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except RecursionError:
        raise ParseFailed("too_deep", "the file is nested too deep") from None


def _load_lines(text: str) -> tuple[list[tuple[int, Any]], int]:
    """The values of lines with their numbers, and how many lines hold none."""
    items: list[tuple[int, Any]] = []
    bad = 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            items.append((number, load_json(line)))
        except ValueError:
            bad += 1
    return items, bad


def _cut_value(value: Any, limits: ParseLimits) -> Iterator[ParsedPart]:
    if isinstance(value, list):
        yield from _cut_items(list(enumerate(value, 1)), "item", limits)
    elif isinstance(value, dict):
        yield from _cut_members(value, limits)
    else:
        yield from _to_parts([_scalar(value)], None, None)


def _cut_members(value: dict[str, Any], limits: ParseLimits) -> Iterator[ParsedPart]:
    """Short members together, a long one by itself under its key."""
    kept: list[str] = []
    size = 0
    for key, member in value.items():
        lines = to_lines({key: member}, limits.depth)
        more = _size(lines)
        if size + more > RANGE_CHARACTERS:
            yield from _to_parts(kept, None, None)
            kept, size = [], 0
        if more <= RANGE_CHARACTERS // 2:
            kept += lines
            size += more
            continue
        yield from _to_parts(kept, None, None)
        kept, size = [], 0
        if isinstance(member, list):
            for part in _cut_items(list(enumerate(member, 1)), "item", limits):
                yield ParsedPart(part.text, heading=key, locator=f"{key[:100]}, {part.locator}")
        else:
            yield from _to_parts(to_lines(member, limits.depth), key, key[:100])
    yield from _to_parts(kept, None, None)


def _cut_items(items: list[tuple[int, Any]], noun: str, limits: ParseLimits) -> Iterator[ParsedPart]:
    kept: list[str] = []
    first = last = size = 0
    for number, item in items:
        lines = to_lines([item], limits.depth)
        more = _size(lines)
        if kept and size + more > RANGE_CHARACTERS:
            yield from _to_parts(kept, None, _describe(noun, first, last))
            kept, first, size = [], 0, 0
        kept += lines
        size += more
        first, last = first or number, number
    yield from _to_parts(kept, None, _describe(noun, first, last))


def _describe(noun: str, first: int, last: int) -> str:
    return f"{noun}{'s' if first != last else ''} {describe_range(first, last)}"


def _to_parts(lines: list[str], heading: str | None, locator: str | None) -> Iterator[ParsedPart]:
    for piece in cut_text("\n".join(lines)):
        yield ParsedPart(piece.text, heading=heading, locator=locator)


def _size(lines: list[str]) -> int:
    return sum(map(len, lines)) + len(lines)


def to_lines(value: Any, depth: int) -> list[str]:
    """A value as indented lines, ``key: value`` and ``- item``. Raises ``ParseFailed`` where it is nested deeper than
    ``depth``."""
    lines: list[str] = []
    waiting: list[tuple[int, str, Any]] = [(0, "", value)]
    while waiting:
        level, label, each = waiting.pop()
        if level > depth:
            raise ParseFailed("too_deep", f"the file is nested more than {depth} deep")
        members = _members_of(each)
        indent = "  " * max(0, level - 1)
        if members is None:
            lines.append(f"{indent}{label}{_scalar(each)}".rstrip())
            continue
        if label:
            lines.append(f"{indent}{label}".rstrip())
        waiting += reversed([(level + 1, name, member) for name, member in members])
    return lines


def _members_of(value: Any) -> list[tuple[str, Any]] | None:
    if isinstance(value, dict) and value:
        return [(f"{key}: ", member) for key, member in value.items()]
    if isinstance(value, list) and value:
        return [("- ", member) for member in value]
    return None


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value
    return {True: "true", False: "false"}.get(value, "") if isinstance(value, bool) else ""
