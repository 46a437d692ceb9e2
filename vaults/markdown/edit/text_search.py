"""Finds the text an edit names, literally or by a pattern. Pure, linear in the text.

Searches see ``\\n`` for every line ending, so that a search of several lines works in a note with other endings;
``to_note_offsets`` converts to offsets in the note.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from vaults.errors import InvalidArgument, TooLarge
from vaults.markdown.edit.diagnosis import explain_no_match
from vaults.markdown.edit.draft import EditDraft
from vaults.markdown.edit.line_endings import line_number_at, to_lf, to_original_offsets

MAX_MATCHES = 100_000
"""More matches are a mistake in the pattern, and would cost hundreds of megabytes of memory."""

MAX_COUNTED = 1_000
"""Matches that are counted if only the first is wanted."""

MAX_PATTERN = 1_000
"""Characters of a pattern."""

MAX_TEXT = 50_000_000
"""Characters of a result: ten times what a note may have by default."""

MAX_SHOWN = 5
"""Matches whose lines a warning names."""

_PATTERN_MEMORY = 2**21  # bytes; beyond it RE2 uses a slower algorithm, which is linear as well

_REASONS = (
    "missing )", "missing ]", "unexpected )", "trailing \\", "no argument for repetition operator",
    "invalid repetition size", "bad repetition operator", "invalid perl operator", "invalid escape sequence",
    "invalid character class range", "invalid character class", "invalid named capture group",
)  # fmt: skip
_REFERENCE = re.compile(r"\\([0-9\\])")


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A match, by offsets in the scope's text with ``\\n`` endings; ``groups`` starts with the whole match."""

    start: int
    end: int
    groups: tuple[str, ...]


def find_text_matches(draft: EditDraft) -> tuple[EditDraft, list[TextMatch]]:
    """The matches to edit, one unless the edit asks for all. Raises ``NotFound`` with the closest lines; under
    ``strict`` ``InvalidArgument`` if it asks for the first and there are more."""
    scope, edit = draft.scope, draft.edit
    text = to_lf(draft.text[scope.body : scope.end])
    found = _find_literal(text, _needle(draft)) if edit.pattern is None else _find_pattern(text, edit.pattern)
    most = MAX_COUNTED if edit.occurrence == "first" else MAX_MATCHES
    matches = list(islice(found, most + 1))
    if not matches:
        raise explain_no_match(draft)
    if edit.occurrence == "first":
        return _warn_if_ambiguous(draft, text, matches), matches[:1]
    if len(matches) > most:
        raise InvalidArgument("pattern" if edit.pattern else "search", f"matches more than {most:,} times")
    return draft, matches if edit.occurrence == "all" else matches[-1:]


def _needle(draft: EditDraft) -> str:
    needle = to_lf(draft.edit.search or "")
    # Lines are removed whole: line endings around the searched text say nothing about the lines before and after.
    return needle.strip("\n") if draft.edit.action == "remove" else needle


def _find_literal(text: str, needle: str) -> Iterator[TextMatch]:
    at = text.find(needle)
    while at >= 0:
        yield TextMatch(at, at + len(needle), (needle,))
        at = text.find(needle, at + len(needle))


def _find_pattern(text: str, pattern: str) -> Iterator[TextMatch]:
    compiled = _compile(pattern)
    for found in compiled.finditer(text):
        groups = tuple(found.group(index) or "" for index in range(compiled.groups + 1))
        yield TextMatch(found.start(), found.end(), groups)


def _compile(pattern: str) -> Any:
    import re2

    if len(pattern) > MAX_PATTERN:
        raise InvalidArgument("pattern", f"has more than {MAX_PATTERN:,} characters")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _PATTERN_MEMORY
    try:
        return re2.compile(f"(?m){pattern}", options=options)
    except re2.error as error:
        message = str(error)
        reason = next((f": {reason}" for reason in _REASONS if reason in message), "")
    raise InvalidArgument(
        "pattern", f"is no RE2 pattern{reason}", hint="RE2 knows no look-around and no back-references. Or use search."
    )


def _warn_if_ambiguous(draft: EditDraft, text: str, matches: Sequence[TextMatch]) -> EditDraft:
    if len(matches) == 1 or draft.edit.guardrails == "off":
        return draft
    lines, at, line = [], 0, line_number_at(draft.text, draft.scope.body)
    for match in matches[:MAX_SHOWN]:
        line += text.count("\n", at, match.start)
        at = match.start
        lines.append(str(line))
    more = ", …" if len(matches) > MAX_SHOWN else ""
    field = "search" if draft.edit.pattern is None else "pattern"
    times = f"{len(matches):,}" if len(matches) <= MAX_COUNTED else f"more than {MAX_COUNTED:,}"
    problem = f"matches {times} times (lines {', '.join(lines)}{more})"
    if draft.edit.guardrails == "strict":
        raise InvalidArgument(field, problem, hint="Give more of the text around it, or set occurrence to 'all'.")
    warning = f"{field} {problem}: only the first was changed"
    return replace(draft, warnings=(*draft.warnings, warning))


def to_whole_lines(draft: EditDraft, matches: Sequence[TextMatch]) -> list[tuple[int, int]]:
    """The lines that the matches touch, endings included; adjacent lines form one span."""
    text = to_lf(draft.text[draft.scope.body : draft.scope.end])
    spans: list[tuple[int, int]] = []
    done = 0  # the end of the last span: a start of a line, so no look back goes further
    for match in matches:
        start, end = _trim(match)
        if end < done or (spans and start < done and end <= done):
            continue
        start = max(text.rfind("\n", done, start) + 1, done)
        following = end if end > start and text[end - 1] == "\n" else text.find("\n", end) + 1
        done = following or len(text)
        if spans and spans[-1][1] == start:
            spans[-1] = spans[-1][0], done
        else:
            spans.append((start, done))
    return spans


def _trim(match: TextMatch) -> tuple[int, int]:
    """The match without leading line endings: they belong to the line before, which it does not touch."""
    whole = match.groups[0]
    lead = len(whole) - len(whole.lstrip("\n"))
    return match.start + (lead if lead < len(whole) else min(lead, 1)), match.end


def to_note_offsets(draft: EditDraft, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Convert spans in the scope's text with ``\\n`` endings to offsets in the note."""
    scope = draft.scope
    flat = [offset for span in spans for offset in span]
    if "\r" in draft.text:
        flat = to_original_offsets(draft.text[scope.body : scope.end], flat)
    flat = [offset + scope.body for offset in flat]
    return list(zip(flat[::2], flat[1::2], strict=True))


def render_replacements(draft: EditDraft, matches: Sequence[TextMatch]) -> list[str]:
    """The replacement of each match. Raises ``TooLarge`` before they would fill the memory."""
    parts = _parse_replacement(draft, matches[0])
    texts, size = [], 0
    for match in matches:
        text = "".join(part if isinstance(part, str) else match.groups[part] for part in parts)
        size += len(text)
        if size > MAX_TEXT:
            raise TooLarge(f"The result would have more than {MAX_TEXT:,} characters.")
        texts.append(text)
    return texts


def _parse_replacement(draft: EditDraft, match: TextMatch) -> list[str | int]:
    """The replacement as pieces of text and numbers of groups."""
    if draft.edit.pattern is None:
        return [draft.content]
    parts: list[str | int] = []
    for index, part in enumerate(_REFERENCE.split(draft.content)):
        if index % 2 == 0 or part == "\\":
            parts.append(part)
            continue
        if int(part) >= len(match.groups):
            raise InvalidArgument("replacement", f"refers to group {part}, and the pattern has {len(match.groups) - 1}")
        parts.append(int(part))
    return parts
