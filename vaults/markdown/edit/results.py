"""Assembles the edited text, and reports which lines are new and what the edit may have broken. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from vaults.advice import Advice, tool_clause
from vaults.errors import InvalidArgument
from vaults.markdown.edit.draft import EditDraft, EditedText
from vaults.markdown.edit.line_endings import (
    count_endings,
    is_line_start,
    line_end,
    line_number_at,
    line_start,
    skip_ending_after,
    skip_ending_before,
)
from vaults.markdown.edit.list_items import indent_columns, parse_item
from vaults.markdown.edit.outline import HeadingMark, Outline, read_outline

MAX_REGION = 4_000
"""Characters of the changed region that are returned."""

MAX_SPLICES_CHECKED = 100
"""Splices that are checked one by one; more are assumed to change the note's structure."""

# What can open or close a fence, a comment, a heading or the frontmatter. Nothing else affects other lines.
_STRUCTURAL = re.compile(r"```|~~~|<|-->|%%|^[ \t>]*(?:-+|=+|\.\.\.|#.*)[ \t]*\r?$", re.MULTILINE)

_NONBLANK = re.compile(r"[^ \t\r\n]")


def assemble_text(draft: EditDraft) -> EditDraft:
    """Build the new text: the old one between the splices, byte for byte, and the splices in their places."""
    parts, at = [], 0
    for splice in draft.splices:
        parts += [draft.text[at : splice.start], splice.new]
        at = splice.end
    return replace(draft, result="".join((*parts, draft.text[at:])))


def check_result(draft: EditDraft) -> EditDraft:
    """Check the result. An edit that would change the frontmatter is refused whatever the guardrails; other damage is a
    warning, or under ``strict`` raises ``InvalidArgument``."""
    if draft.result == draft.text:
        return replace(draft, warnings=(*draft.warnings, "Nothing changed: the note says this already."))
    after = read_outline(draft.result) if _may_restructure(draft) else draft.outline
    if draft.result[: after.body_start].rstrip("\r\n") != draft.text[: draft.outline.body_start].rstrip("\r\n"):
        raise InvalidArgument(
            "content" if draft.is_block else "search",
            "would change where the note's frontmatter ends",
            hint=Advice(
                tool_clause("frontmatter_update changes properties", "frontmatter_update"),
                "a '---' line can be written as '***'",
            ),
        )
    if draft.edit.guardrails == "off":
        return draft
    broken = _find_breakage(draft, after)
    if broken and draft.edit.guardrails == "strict":
        raise InvalidArgument("content" if draft.is_block else "search", "; ".join(broken))
    warnings = (f"The edit {problem}." for problem in (*broken, *_find_leftovers(draft)))
    return replace(draft, warnings=(*draft.warnings, *warnings))


def _may_restructure(draft: EditDraft) -> bool:
    """Whether the lines that change, or the next non-blank one below, can affect the lines around them."""
    if len(draft.splices) > MAX_SPLICES_CHECKED:
        return True
    shift = 0
    for splice in draft.splices:
        start, end = splice.start + shift, splice.start + shift + len(splice.new)
        shift += len(splice.new) - (splice.end - splice.start)
        if _STRUCTURAL.search(_lines(draft.text, splice.start, splice.end)):
            return True
        if _STRUCTURAL.search(_lines(draft.result, start, end)):
            return True
    return False


def _lines(text: str, start: int, end: int) -> str:
    below = _NONBLANK.search(text, line_end(text, end, len(text)))
    return text[line_start(text, start) : line_end(text, below.start() if below else end, len(text))]


def _find_breakage(draft: EditDraft, after: Outline) -> list[str]:
    before, found = draft.outline, []
    if after.open_fence is not None and before.open_fence is None:
        line = line_number_at(draft.result, after.open_fence)
        found.append(f"leaves a code fence open (line {line}): all that follows is read as code")
    elif before.open_fence is not None and draft.splices[-1].start > before.open_fence:
        line = line_number_at(draft.text, before.open_fence)
        found.append(f"stands inside a code fence that is never closed (line {line})")
    lost, gained = _find_changed_headings(draft, after)
    if lost and not found:
        found.append(f"makes {len(lost)} of the note's other headings plain text or code: {_name_headings(lost)}")
    if gained:
        found.append(f"makes {len(gained)} of the note's other lines headings: {_name_headings(gained)}")
    return found


def _find_changed_headings(draft: EditDraft, after: Outline) -> tuple[list[HeadingMark], list[HeadingMark]]:
    """Headings that no splice touches: those no longer headings in the result, and those that became headings."""
    if after is draft.outline:
        return [], []
    spans, shift = [], 0
    for splice in draft.splices:
        spans.append((splice.start + shift, splice.start + shift + len(splice.new)))
        shift += len(splice.new) - (splice.end - splice.start)
    before = _untouched_headings(draft.outline.marks, [(splice.start, splice.end) for splice in draft.splices])
    behind = _untouched_headings(after.marks, spans)
    return [before[key] for key in before.keys() - behind.keys()], [
        behind[key] for key in behind.keys() - before.keys()
    ]


def _untouched_headings(
    marks: Sequence[HeadingMark], spans: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], HeadingMark]:
    """Headings that no span touches, keyed by the number of spans above and the distance from the last of them."""
    found, index, offset = {}, 0, 0
    for mark in marks:
        while index < len(spans) and spans[index][1] <= mark.start:
            index, offset = index + 1, spans[index][1]
        if index == len(spans) or spans[index][0] >= mark.end:
            found[index, mark.start - offset] = mark
    return found


def _name_headings(marks: Sequence[HeadingMark]) -> str:
    return ", ".join(f"'{mark.text}'" for mark in sorted(marks)[:3])


def _find_leftovers(draft: EditDraft) -> list[str]:
    """Warnings about what a removal left behind, or removed as well."""
    if draft.edit.action != "remove":
        return []
    gone = _marks_within(draft)
    if not draft.edit.searches:
        return [f"removed {len(gone) - 1} sub-sections too"] if len(gone) > 1 else []
    found = []
    if gone:
        found.append(
            f"removed a heading ({_name_headings(gone)}): what stood under it now belongs to the section above"
        )
    if any(_leaves_orphans(draft.text, splice.start, splice.end) for splice in draft.splices[:MAX_SPLICES_CHECKED]):
        found.append("removed a list item and left the lines that were indented below it")
    return found


def _marks_within(draft: EditDraft) -> list[HeadingMark]:
    marks, gone = draft.outline.marks, []
    for splice in draft.splices:
        index = bisect_left(marks, splice.start, key=lambda mark: mark.start)
        while index < len(marks) and marks[index].start < splice.end:
            gone.append(marks[index])
            index += 1
    return gone


def _leaves_orphans(text: str, start: int, end: int) -> bool:
    last = line_start(text, skip_ending_before(text, end))
    item = parse_item(text[max(start, last) : skip_ending_before(text, end)])
    below = text[end : line_end(text, end, len(text))]
    return item is not None and bool(below.strip()) and indent_columns(below) > indent_columns(item.indent)


def report_changes(draft: EditDraft) -> EditedText:
    """The result of the edit; its new lines reach from the first splice to the last."""
    text, warnings = draft.result, list(draft.warnings)
    if not draft.splices or text == draft.text:
        line = line_number_at(text, draft.splices[0].start if draft.splices else draft.scope.body)
        return EditedText(text, line, line - 1, warnings, "")
    first, last = draft.splices[0], draft.splices[-1]
    start, end = first.start, len(text) - (len(draft.text) - last.end)
    if start == end and _is_whole_lines(text, start, draft.text[first.start : last.end]):
        line = line_number_at(text, start) + (not is_line_start(text, start))
        return EditedText(text, line, line - 1, warnings, "")
    if start < end and not is_line_start(text, start) and draft.text[start : start + 1] in ("", "\r", "\n"):
        start = skip_ending_after(text, start)  # the line before it is unchanged
    if start < end and is_line_start(text, end) and (end == len(text) or is_line_start(draft.text, last.end)):
        end = skip_ending_before(text, end)
    number = line_number_at(text, start)
    region = text[line_start(text, start) : line_end(text, end, len(text))]
    return EditedText(
        text=text,
        first_line=number,
        last_line=number + count_endings(text, start, end),
        warnings=warnings,
        region=_shorten(region),
        written=_find_written(draft),
    )


def _find_written(draft: EditDraft) -> tuple[tuple[int, int], ...]:
    shift, found = 0, []
    for splice in draft.splices:
        start = splice.start + shift
        shift += len(splice.new) - (splice.end - splice.start)
        found.append((start, start + len(splice.new)))
    return tuple((start, end) for start, end in found if start < end)


def _is_whole_lines(text: str, at: int, removed: str) -> bool:
    """Whether ``removed``, taken out at ``at``, was whole lines."""
    if is_line_start(text, at):
        return at == len(text) or removed[-1:] in ("\r", "\n")
    return at == len(text) and removed[:1] in ("\r", "\n")


def _shorten(region: str) -> str:
    if len(region) <= MAX_REGION:
        return region
    half = MAX_REGION // 2
    return f"{region[:half]}\n[… {len(region) - 2 * half:,} characters …]\n{region[-half:]}"
