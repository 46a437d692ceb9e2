"""Explains why a search found nothing: the closest lines, and how each differs from the searched text. Pure.

Runs only after a search has failed, over a bounded number of lines.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from vaults.advice import Advice, tool_clause
from vaults.errors import NotFound
from vaults.markdown.edit.draft import EditDraft
from vaults.markdown.edit.line_endings import line_number_at, to_lf, to_original_offsets
from vaults.markdown.fuzzy import find_nearest

MAX_LINES = 20_000
"""Lines of the section that are compared."""

MAX_LENGTH = 300
"""Characters of a line that are compared and shown."""

MAX_CLOSEST = 3
"""Closest lines to name for each line of the search."""

MAX_SEARCHED = 5
"""Lines of the search that are explained."""

_LIKENESS = 60
"""Similarity, of 100, from which a line counts as close."""

_QUOTES = str.maketrans("‘’‚‛′“”„‟″«»´`", "'''''\"\"\"\"\"\"\"''")
_DASHES = str.maketrans("‐‑‒–—―−", "-------")
_SPACE = re.compile(r"\s+")
_MARKUP = re.compile(r"\*\*|__|~~|==|[*_`]|\[\[|\]\]")

FOLDS: Mapping[str, Callable[[str], str]] = {
    "Unicode form": lambda text: unicodedata.normalize("NFC", text),
    "quotes": lambda text: text.translate(_QUOTES),
    "dashes": lambda text: text.translate(_DASHES),
    "emphasis or link brackets": lambda text: _MARKUP.sub("", text),
    "white space": lambda text: _SPACE.sub(" ", text).strip(),
    "case": str.casefold,
}
"""What two lines may differ in and still say the same, each with a function that removes the difference."""


def explain_no_match(draft: EditDraft) -> NotFound:
    """The error for a search without matches. ``details['closest']`` lists lines as ``line``, ``text``, ``differs``
    and, for a search of several lines, ``search_line``."""
    where = f"in section '{draft.scope.title}'" if draft.scope.level else "in the note"
    if draft.edit.pattern is not None:
        return NotFound(f"pattern matches nothing {where}.", hint="Try search with the exact text.", closest=[])
    needle = to_lf(draft.edit.search or "").strip("\n")
    if (elsewhere := _explain_elsewhere(draft, needle)) is not None:
        return elsewhere
    closest = _find_closest(draft, [line for line in needle.split("\n") if line.strip()])
    if not closest:
        message = f"search was not found {where}, and no line comes close."
        return NotFound(message, hint="Read the note first.", closest=[])
    near = closest[0]
    return NotFound(
        f"search was not found {where}. Line {near['line']} {_describe_differences(near['differs'])}: {near['text']}",
        hint=f"Pass the text exactly as line {near['line']} has it.",
        closest=closest,
    )


def _explain_elsewhere(draft: EditDraft, needle: str) -> NotFound | None:
    """The error if the text is in the note, but outside the edit's scope."""
    scope, body = draft.scope, draft.outline.body_start
    for start, end in ((body, scope.body), (scope.end, len(draft.text)), (0, body)):
        part = draft.text[start:end]
        at = to_lf(part).find(needle)
        if at >= 0:
            return _describe_place(draft, start + to_original_offsets(part, [at])[0])
    return None


def _describe_place(draft: EditDraft, offset: int) -> NotFound:
    line = line_number_at(draft.text, offset)
    if offset < draft.outline.body_start:
        hint = Advice(
            tool_clause("frontmatter_update changes properties", "frontmatter_update"),
            tool_clause("note_write with mode overwrite changes the whole note", "note_write"),
        )
        return NotFound(f"search stands in the frontmatter (line {line}) only.", hint=hint, closest=[], line=line)
    mark = next((mark for mark in reversed(draft.outline.marks) if mark.start <= offset), None)
    under = f", under '{'#' * mark.level} {mark.text}'" if mark else ""
    return NotFound(
        f"search was not found in section '{draft.scope.title}', but stands in line {line}{under}.",
        hint="Name that section, or leave section out to search the whole note.",
        closest=[],
        line=line,
    )


def _find_closest(draft: EditDraft, wanted: list[str]) -> list[dict[str, Any]]:
    scope = draft.scope
    lines = [line[:MAX_LENGTH] for line in to_lf(draft.text[scope.body : scope.end]).split("\n", MAX_LINES)[:MAX_LINES]]
    folded = [_fold(line) for line in lines]
    first = line_number_at(draft.text, scope.body)
    found: list[dict[str, Any]] = []
    for number, whole in enumerate(wanted[:MAX_SEARCHED], 1):
        searched = whole[:MAX_LENGTH]
        for index in _nearest_lines(_fold(searched), folded):
            entry = {"line": first + index, "text": lines[index], "differs": find_differences(searched, lines[index])}
            found.append({**entry, "search_line": number} if len(wanted) > 1 else entry)
    # Lines of the search that are found exactly come last: the search did not fail at them.
    return sorted(found, key=lambda entry: not entry["differs"])


def _nearest_lines(wanted: str, lines: list[str]) -> list[int]:
    from rapidfuzz import fuzz

    same = [index for index, line in enumerate(lines) if wanted in line][:MAX_CLOSEST] if wanted else []
    if same:
        return same
    found = find_nearest(wanted, lines, fuzz.partial_ratio, limit=MAX_CLOSEST, least=_LIKENESS)
    return [index for line, _, index in found if len(line) * 2 >= len(wanted)]


def find_differences(wanted: str, line: str) -> list[str]:
    """How ``wanted`` differs from the text in ``line`` that says the same; ``wording`` if none does, nothing if the
    line holds it exactly."""
    if wanted in line:
        return []
    if _fold(wanted) not in _fold(line):
        return ["wording"]
    return [name for name in FOLDS if _fold(wanted, name) not in _fold(line, name)] or ["several things at once"]


def _fold(text: str, but: str = "") -> str:
    for name, fold in FOLDS.items():
        if name != but:
            text = fold(text)
    return text


def _describe_differences(differs: list[str]) -> str:
    if not differs:
        return "holds a part of it"
    if differs == ["wording"]:
        return "comes closest, in other words"
    return f"differs only in {' and '.join(differs)}"
