"""Items of the list a block is added to: the last ones if a section ends in a list, or its first. Pure.

Works on the lines of one section's own text; columns count a tab up to the next multiple of four, as Markdown does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vaults.markdown.edit.draft import ListItem

ITEM = re.compile(r"([ \t]*)(?:([-*+])|([0-9]{1,9})([.)]))(?:([ \t]+)|$)")
"""Groups: indentation, bullet, number, its delimiter, the gap before the text."""

_RULE = re.compile(r"[ \t]*(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,})$")
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*(`{3}|~{3})")

_BREAKS = re.compile(r" {0,3}(?:>|\||#|\*\*\*|---|___)")

MAX_LINES = 2_000
"""Lines at the end of a section that are searched for its last list."""


@dataclass(frozen=True, slots=True)
class TrailingList:
    """The list that ends a text: its ``last`` item, and the last one at its ``top`` level."""

    last: ListItem
    top: ListItem
    loose: bool
    unit: str
    """Indent from one level to the next; empty if no item is nested."""
    numbered: ListItem | None = None
    """The nearest item with a number: the last, or one that the last is nested under."""


def parse_item(line: str) -> ListItem | None:
    found = ITEM.match(line)
    if found is None or _RULE.match(line):
        return None
    return ListItem(found[1], found[2] or found[4], int(found[3]) if found[3] else None)


def indent_columns(line: str) -> int:
    """The columns by which a line is indented."""
    return len((line[: len(line) - len(line.lstrip(" \t"))]).expandtabs(4))


def find_trailing_list(lines: Sequence[str]) -> TrailingList | None:
    """The list in which ``lines`` end; None if they end in something else. The last line must not be blank."""
    items = _items_upwards(lines)
    if not items:
        return None
    index, last = items[0]
    found = [item for _, item in items]
    numbers = (
        item for item in found if item.number is not None and indent_columns(item.indent) <= indent_columns(last.indent)
    )
    numbered = next(numbers, None)
    top = min(found, key=lambda item: indent_columns(item.indent))
    return TrailingList(
        last=_next_item(last, found),
        top=_next_item(top, found),
        loose=len(items) > 1 and index > 0 and not lines[index - 1].strip(" \t"),
        unit=min((item.indent for item in found if item.indent), key=indent_columns, default=""),
        numbered=_next_item(numbered, found) if numbered else None,
    )


def _next_item(item: ListItem, found: Sequence[ListItem]) -> ListItem:
    """``item`` with the number that the next one counts from: if all have the same number, so does the next."""
    siblings = [other for other in found if indent_columns(other.indent) == indent_columns(item.indent)]
    above = siblings.index(item) + 1
    if item.number is not None and above < len(siblings) and siblings[above].number == item.number:
        return ListItem(item.indent, item.marker, item.number - 1)
    return item


def _items_upwards(lines: Sequence[str]) -> list[tuple[int, ListItem]]:
    """Items from the last line upwards to where their list begins, with the indexes of their lines."""
    items: list[tuple[int, ListItem]] = []
    # A line directly below another may continue it without indent; after a blank line it needs one.
    indent, lazy, fence = indent_columns(lines[-1]), not _BREAKS.match(lines[-1]), ""
    for index in range(len(lines) - 1, max(-1, len(lines) - 1 - MAX_LINES), -1):
        line = lines[index]
        mark = _FENCE.match(line)
        inside, fence = fence, _toggle_fence(fence, mark[1] if mark else "")
        if inside and fence:
            continue
        lazy = lazy and not mark and bool(line.strip(" \t"))
        item = parse_item(line)
        if item is not None:
            if not items and not lazy and indent < content_column(line):
                break
            items.append((index, item))
            if len(items) > 1 and not item.indent:
                break
        elif line.strip(" \t"):
            indent = min(indent, indent_columns(line))
            if items and not indent:
                break
    return items


def _toggle_fence(fence: str, mark: str) -> str:
    """The fence open above a line, reading upwards; ``mark``: the line's own fence."""
    if not mark:
        return fence
    return mark if not fence else "" if fence == mark else fence


def content_column(line: str) -> int:
    found = ITEM.match(line)
    return len(found[0].expandtabs(4)) if found else 0
