"""Formats content as list items of the requested format that match those of the note. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from vaults.markdown.edit import list_items
from vaults.markdown.edit.content_repairs import TIME_PREFIX
from vaults.markdown.edit.draft import EditDraft, ListItem

_TASK = re.compile(r"\[.\][ \t]+")
_LAST_NUMBER = 999_999_999
"""A number with more digits makes no list item."""


def format_content(draft: EditDraft) -> EditDraft:
    """Make the content one item or, if it is a list already, one for each of its items. Lines after an item's first
    are indented to its text. Plain content only takes on the indentation of the list it goes into."""
    if not draft.is_block or not draft.content:
        return draft
    lines = draft.content.split("\n")
    if draft.edit.format != "plain":
        lines = _format_item(draft, lines)
    if draft.point.item and list_items.parse_item(lines[0]):
        lines = [
            _join_indent(draft.point.item.indent, line) for line in _with_indent_unit(_dedent(lines), draft.point.unit)
        ]
    return replace(draft, content="\n".join(lines))


def _format_item(draft: EditDraft, lines: list[str]) -> list[str]:
    shaped: list[str] = []
    for offset, (first, rest) in enumerate(_split_items(lines), 1):
        marker = _list_marker(draft, offset)
        shaped.append(f"{marker} {_item_text(draft, first)}")
        shaped += [_join_indent(" " * (len(marker) + 1), line) for line in rest]
    return shaped


def _list_marker(draft: EditDraft, offset: int) -> str:
    item = draft.point.item or ListItem("", "-")
    if draft.edit.format != "numbered":
        return item.marker if item.number is None else "-"
    if item.number is None:
        return f"{offset}."
    return f"{min(item.number + offset, _LAST_NUMBER)}{item.marker}"


def _item_text(draft: EditDraft, text: str) -> str:
    if draft.edit.format == "task":
        return text if _TASK.match(text) else f"[ ] {text}"
    if draft.edit.format != "timestamp-bullet":
        return text
    own = TIME_PREFIX.match(text) if draft.edit.guardrails != "off" else None
    return f"{own[1]} {text[own.end() :]}" if own else f"{draft.now:%H:%M} {text}"


def _split_items(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Each item's first line without marker, and the lines that belong to it, dedented by the marker's width."""
    found = list_items.ITEM.match(lines[0])
    if found is None or list_items.parse_item(lines[0]) is None:
        yield lines[0].strip(" \t"), lines[1:]
        return
    base, starts = list_items.indent_columns(lines[0]), [0]
    for index, line in enumerate(lines[1:], 1):
        if list_items.parse_item(line) and list_items.indent_columns(line) <= base:
            starts.append(index)
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        item = list_items.ITEM.match(lines[start])
        assert item is not None
        width = list_items.content_column(lines[start])
        yield lines[start][item.end() :], [_strip_indent(line, width) for line in lines[start + 1 : stop]]


def _dedent(lines: list[str]) -> list[str]:
    base = list_items.indent_columns(lines[0])
    return [_strip_indent(line, base) for line in lines] if base else lines


def _strip_indent(line: str, width: int) -> str:
    """``line`` with its indentation reduced by up to ``width`` columns."""
    if not width or not line[:1].isspace():
        return line
    blank = line[: len(line) - len(line.lstrip(" \t"))].expandtabs(4)
    return blank[width:] + line.lstrip(" \t")


def _with_indent_unit(lines: list[str], unit: str) -> list[str]:
    """Reindent nested items by the list's own unit, a tab or some blanks."""
    steps = [
        list_items.indent_columns(line)
        for line in lines
        if list_items.parse_item(line) and list_items.indent_columns(line)
    ]
    if not unit or not steps:
        return lines
    step = min(steps)
    return [_reindent(line, step, unit) for line in lines]


def _reindent(line: str, step: int, unit: str) -> str:
    deep, rest = divmod(list_items.indent_columns(line), step)
    return unit * deep + " " * rest + line.lstrip(" \t")


def _join_indent(indent: str, line: str) -> str:
    return f"{indent}{line}" if line.strip(" \t") else ""
