"""Turns the content into splices of the text: inserted, replacing a section's text, or replacing what a search found.

What is not in a splice cannot change: the result is assembled from the old text between them. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vaults.markdown.edit import insertion_points, text_search
from vaults.markdown.edit.draft import EditDraft, Splice
from vaults.markdown.edit.line_endings import (
    BLANK,
    find_ending_near,
    is_line_start,
    line_end,
    line_start,
    skip_ending_after,
    skip_ending_before,
)


def place_content(draft: EditDraft) -> EditDraft:
    """Compute the splices. Raises ``NotFound`` with the closest lines if a search finds nothing."""
    if draft.edit.action == "add":
        return _insert(draft)
    if draft.edit.searches:
        return _remove_lines(draft) if draft.edit.action == "remove" else _replace_matches(draft)
    return _remove_section(draft) if draft.edit.action == "remove" else _replace_section_text(draft)


def _insert(draft: EditDraft) -> EditDraft:
    text, at = draft.text, draft.point.at
    ending = find_ending_near(text, at)
    lines = draft.content.split("\n")
    if draft.heading:
        lines = [draft.heading, *([""] if insertion_points.has_spaced_headings(draft) else []), *lines]
    before, after = insertion_points.needs_blank_lines(draft, lines)
    block = ending.join([*([""] if before else []), *lines])
    # A last line without an ending gets none.
    new = f"{block}{ending}{ending if after else ''}" if is_line_start(text, at) else f"{ending}{block}"
    return replace(draft, splices=(Splice(at, at, new),))


def _replace_section_text(draft: EditDraft) -> EditDraft:
    """Replace the section's own text, from its first non-blank line to its last."""
    text, scope = draft.text, draft.scope
    own = text[scope.body : scope.own_end]
    filled = own.rstrip(BLANK)
    if not filled:
        return _insert(draft) if draft.content else draft
    last = line_end(text, scope.body + len(filled), len(text))
    if not draft.content:
        start, end = _without_loose_end(draft, scope.body, skip_ending_after(text, last))
        return replace(draft, splices=(Splice(start, end, ""),))
    first = line_start(text, scope.body + len(own) - len(own.lstrip(BLANK)))
    new = draft.content.replace("\n", find_ending_near(text, first))
    return replace(draft, splices=(Splice(first, last, new),))


def _remove_section(draft: EditDraft) -> EditDraft:
    text, scope = draft.text, draft.scope
    start, end = scope.start, scope.end
    if end == len(text):  # the blank lines before it go with it
        kept = text[draft.outline.body_start : start].rstrip(BLANK)
        last = line_end(text, draft.outline.body_start + len(kept), start)
        start = skip_ending_after(text, last) if kept else start
    start, end = _without_loose_end(draft, start, end)
    return replace(draft, splices=(Splice(start, end, ""),))


def _remove_lines(draft: EditDraft) -> EditDraft:
    draft, found = text_search.find_text_matches(draft)
    spans = text_search.to_note_offsets(draft, text_search.to_whole_lines(draft, found))
    spans = _with_gaps(draft, spans)
    if spans:
        floor = spans[-2][1] if len(spans) > 1 else draft.outline.body_start
        start, end = _without_loose_end(draft, *spans[-1])
        spans[-1] = max(start, floor), end
    return replace(draft, splices=tuple(Splice(start, end, "") for start, end in spans))


def _with_gaps(draft: EditDraft, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Extend spans of whole lines by the blank line that separated each and would separate nothing any more: it was
    added along with the lines, and goes with them. Within code a blank line is code."""
    found: list[tuple[int, int]] = []
    floor = draft.outline.body_start
    for start, end in spans:
        coded = any(first < start and end < last for first, last in draft.outline.fences)
        found.append((start, end) if coded else _with_gap(draft.text, floor, start, end))
        floor = found[-1][1]
    return found


def _with_gap(text: str, floor: int, start: int, end: int) -> tuple[int, int]:
    above = line_start(text, skip_ending_before(text, start)) if start > floor else start
    below = skip_ending_after(text, line_end(text, end, len(text)))
    parted = above < start and not text[above:start].strip(BLANK)
    before = "" if parted or above == start else insertion_points.line_kind(text[above:start])
    after = insertion_points.line_kind(text[end:below])
    if parted and (end == len(text) or after in ("", "heading")):
        return above, end
    if above == start and floor < start:
        return start, end  # it directly follows another removed span
    following = text[below:].lstrip(BLANK)[:200]
    begins = before == "heading" or start == floor
    if (
        begins
        and not after
        and end < len(text)
        and following
        and (not before or insertion_points.line_kind(following) != "heading")
    ):
        return start, below
    return start, end


def _replace_matches(draft: EditDraft) -> EditDraft:
    draft, found = text_search.find_text_matches(draft)
    spans = text_search.to_note_offsets(draft, [(match.start, match.end) for match in found])
    texts = text_search.render_replacements(draft, found)
    splices = (
        Splice(start, end, new.replace("\n", find_ending_near(draft.text, start)) if "\n" in new else new)
        for (start, end), new in zip(spans, texts, strict=True)
    )
    return replace(draft, splices=tuple(splices))


def _without_loose_end(draft: EditDraft, start: int, end: int) -> tuple[int, int]:
    """Extend a removal at the end of a note without a final line ending, so that it still has none afterwards."""
    text = draft.text
    if end < len(text) or not text or text[-1] in "\r\n":
        return start, end
    while start > draft.outline.body_start and is_line_start(text, start):
        start = skip_ending_before(text, start)
    return start, end
