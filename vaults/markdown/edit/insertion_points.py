"""Where a block is inserted, what stands around it, and the blank lines that keep it a separate block. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from vaults.markdown.edit import list_items
from vaults.markdown.edit.draft import EditDraft, InsertionPoint
from vaults.markdown.edit.line_endings import BLANK, line_end, line_start, skip_ending_after, to_lf

MAX_READ = 65_536
"""Characters at a section's end that are searched for a list."""

MAX_HEADINGS = 50
"""Headings whose spacing is read as the note's habit."""

_KINDS = (
    ("list", list_items.ITEM),
    ("quote", re.compile(r" {0,3}>")),
    ("table", re.compile(r" {0,3}\|")),
    ("heading", re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")),
)
_CONTINUOUS = {"list", "quote", "table"}
"""Kinds whose lines simply follow each other. Anything else would run together, or read as one paragraph."""


def line_kind(line: str) -> str:
    """The kind of a line: ``list``, ``quote``, ``table``, ``heading``, ``text``, or '' for a blank one."""
    if not line.strip(BLANK):
        return ""
    return next((name for name, pattern in _KINDS if pattern.match(line)), "text")


def find_insertion_point(draft: EditDraft) -> EditDraft:
    """Find where a block goes. For ``add``: after the last line that is not blank, or with ``prepend`` before the
    first; the blank lines that separate a section from its neighbours stay where they are."""
    if not draft.is_block:
        return draft
    start, stop = _target_range(draft)
    own = draft.text[start:stop]
    filled = own.rstrip(BLANK)
    if not filled:
        return replace(draft, point=_point_in_empty(draft, start, stop))
    if draft.edit.action == "replace":
        return draft  # it takes the place of what is there
    if draft.edit.position == "prepend" and not draft.heading:
        return replace(draft, point=_point_at_start(draft, start + len(own) - len(own.lstrip(BLANK)), stop))
    point = _point_at_end(draft, start, start + len(filled))
    if draft.heading:
        point = replace(point, item=None, unit="")  # the list is another section's
    return replace(draft, point=point)


def _target_range(draft: EditDraft) -> tuple[int, int]:
    """The range at whose start or end the block goes in."""
    scope, marks = draft.scope, draft.outline.marks
    if draft.heading:
        return scope.body, scope.end
    if scope.level:
        return scope.body, scope.own_end
    if draft.edit.position == "prepend":
        return scope.body, scope.end
    return (marks[-1].end if marks else scope.body), scope.end


def _point_in_empty(draft: EditDraft, start: int, stop: int) -> InsertionPoint:
    """The point in an empty section: right below the heading, or at the end of the note, below its blank lines."""
    at = stop if stop == len(draft.text) else start
    headed = start > draft.outline.body_start and at == start
    return InsertionPoint(at, before="heading" if headed else "", after=_kind_at(draft.text, at))


def _point_at_start(draft: EditDraft, first: int, stop: int) -> InsertionPoint:
    start = line_start(draft.text, first)
    line = draft.text[start : line_end(draft.text, start, stop)]
    item = list_items.parse_item(line)
    if item and item.number is not None:
        item = replace(item, number=item.number - 1)  # it comes before: Markdown counts on from the first
    return InsertionPoint(start, item, after=line_kind(line))


def _point_at_end(draft: EditDraft, start: int, end: int) -> InsertionPoint:
    text = draft.text
    at = skip_ending_after(text, line_end(text, end, len(text)))
    found = list_items.find_trailing_list(to_lf(text[max(start, end - MAX_READ) : end]).split("\n"))
    if found is None:
        line = text[line_start(text, end) : end]
        return InsertionPoint(at, before=line_kind(line), after=_kind_at(text, at))
    item = found.last if draft.edit.preserve_nesting else found.top
    if draft.edit.format == "numbered" and draft.edit.preserve_nesting and found.numbered:
        item = found.numbered  # the next step, not one more remark below the last
    return InsertionPoint(at=at, item=item, loose=found.loose, before="list", after=_kind_at(text, at), unit=found.unit)


def _kind_at(text: str, at: int) -> str:
    return line_kind(text[at : line_end(text, at, len(text))])


def needs_blank_lines(draft: EditDraft, lines: Sequence[str]) -> tuple[bool, bool]:
    """Whether a block of these lines needs a blank line before it, and one after."""
    point, edit = draft.point, draft.edit
    first, last = line_kind(lines[0]), "list" if list_items.find_trailing_list(lines) else line_kind(lines[-1])
    if point.before == "heading":
        before = has_spaced_headings(draft)
    elif point.before == first == "list":
        before = point.loose
    else:
        before = bool(point.before) and not _is_continuous(point.before, first)
    # Where a heading follows without a blank line, that is how this note is written.
    kept = point.after == "heading" and edit.position == "append" and not draft.heading
    return before, bool(point.after) and not kept and not _is_continuous(last, point.after)


def _is_continuous(above: str, below: str) -> bool:
    return above == below and above in _CONTINUOUS


def has_spaced_headings(draft: EditDraft) -> bool:
    """Whether the note's headings are followed by a blank line, more often than not."""
    text = draft.text
    follows = [_kind_at(text, mark.end) for mark in draft.outline.marks[:MAX_HEADINGS] if mark.end < len(text)]
    blank = sum(not name for name in follows)
    return blank > sum(name not in ("", "heading") for name in follows)
