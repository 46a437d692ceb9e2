"""Content as list items of the format asked for, ready to stand beside those of the note. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from vaults.markdown.edit import list_items
from vaults.markdown.edit.content_repairs import TIME
from vaults.markdown.edit.draft import Draft, Item

_TASK = re.compile(r"\[.\][ \t]+")
_LAST_NUMBER = 999_999_999
"""More digits are no list item."""


def shape(draft: Draft) -> Draft:
    """One item; where the content is a list already, one for each of its items. What follows an item's first line is
    indented to its text. Plain content stays as it is, but for the indentation of the list it goes into."""
    if not draft.is_block or not draft.content:
        return draft
    lines = draft.content.split("\n")
    if draft.edit.format != "plain":
        lines = _formatted(draft, lines)
    if draft.spot.item and list_items.item_of(lines[0]):
        lines = [_join(draft.spot.item.indent, line) for line in _with_unit(_dedented(lines), draft.spot.unit)]
    return replace(draft, content="\n".join(lines))


def _formatted(draft: Draft, lines: list[str]) -> list[str]:
    shaped: list[str] = []
    for offset, (first, rest) in enumerate(_items(lines), 1):
        marker = _marker(draft, offset)
        shaped.append(f"{marker} {_text(draft, first)}")
        shaped += [_join(" " * (len(marker) + 1), line) for line in rest]
    return shaped


def _marker(draft: Draft, offset: int) -> str:
    item = draft.spot.item or Item("", "-")
    if draft.edit.format != "numbered":
        return item.marker if item.number is None else "-"
    if item.number is None:
        return f"{offset}."
    return f"{min(item.number + offset, _LAST_NUMBER)}{item.marker}"


def _text(draft: Draft, text: str) -> str:
    if draft.edit.format == "task":
        return text if _TASK.match(text) else f"[ ] {text}"
    if draft.edit.format != "timestamp-bullet":
        return text
    own = TIME.match(text) if draft.edit.guardrails != "off" else None
    return f"{own[1]} {text[own.end() :]}" if own else f"{draft.now:%H:%M} {text}"


def _items(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """First line without marker, and the lines that belong to it, indented less by what the marker took."""
    found = list_items.ITEM.match(lines[0])
    if found is None or list_items.item_of(lines[0]) is None:
        yield lines[0].strip(" \t"), lines[1:]
        return
    base, starts = list_items.columns(lines[0]), [0]
    for index, line in enumerate(lines[1:], 1):
        if list_items.item_of(line) and list_items.columns(line) <= base:
            starts.append(index)
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        item = list_items.ITEM.match(lines[start])
        assert item is not None
        width = list_items.content_column(lines[start])
        yield lines[start][item.end() :], [_less(line, width) for line in lines[start + 1 : stop]]


def _dedented(lines: list[str]) -> list[str]:
    base = list_items.columns(lines[0])
    return [_less(line, base) for line in lines] if base else lines


def _less(line: str, width: int) -> str:
    """``line`` with up to ``width`` columns less of indentation."""
    if not width or not line[:1].isspace():
        return line
    blank = line[: len(line) - len(line.lstrip(" \t"))].expandtabs(4)
    return blank[width:] + line.lstrip(" \t")


def _with_unit(lines: list[str], unit: str) -> list[str]:
    """Nested items indented by the list's own unit, a tab or some blanks, where they have another one."""
    steps = [list_items.columns(line) for line in lines if list_items.item_of(line) and list_items.columns(line)]
    if not unit or not steps:
        return lines
    step = min(steps)
    return [_reindented(line, step, unit) for line in lines]


def _reindented(line: str, step: int, unit: str) -> str:
    deep, rest = divmod(list_items.columns(line), step)
    return unit * deep + " " * rest + line.lstrip(" \t")


def _join(indent: str, line: str) -> str:
    return f"{indent}{line}" if line.strip(" \t") else ""
