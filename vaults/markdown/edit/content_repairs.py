"""Adapts content to the note: bullets as the note writes them, headings below the section's. Pure.

Code is left alone throughout. Each repair returns the repaired content.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from vaults.errors import InvalidArgument
from vaults.markdown.edit.draft import EditDraft
from vaults.markdown.edit.list_items import ITEM
from vaults.markdown.edit.outline import HeadingMark, read_outline

TIME_PREFIX = re.compile(
    r"(?:\*\*|`|\[)?([0-2]?[0-9]:[0-5][0-9](?::[0-5][0-9])?(?: ?[AaPp][Mm]\b)?)(?:\*\*|`|\])?"
    r"(?:[ \t]*[-–—:][ \t]+|[ \t]+)(?=\S)"
)
"""A time that content starts with, and what separates it from the text."""

_ODD_BULLET = re.compile(r"^([ \t]*)([•◦▪▫‣⁃●○·–—])[ \t]+(?=\S)", re.MULTILINE)
_OTHER_BULLET = re.compile(r"^([ \t]*)[*+]([ \t]+)(?=\S)", re.MULTILINE)
_BULLET = re.compile(r"\n[ \t]*([-*+])[ \t]+\S")
_ATX = re.compile(r"[ \t]*(#{1,6})")
_TASK = re.compile(r"\[.\][ \t]+")


def normalize_content(draft: EditDraft) -> EditDraft:
    """Remove blank lines around the content, whatever the guardrails, and apply the repairs unless they are off."""
    if not draft.is_block:
        return draft
    content = draft.content.removeprefix("\ufeff").rstrip(" \t\n")
    content = content[len(content) - len(content.lstrip("\n")) :]
    draft = replace(draft, content=content)
    if draft.edit.guardrails == "off":
        return draft
    for repair in REPAIRS:
        draft = replace(draft, content=repair(draft))
    if draft.edit.action == "add" and not draft.content.strip():
        raise InvalidArgument("content", "holds nothing but the section's own heading")
    return draft


def find_repeated_heading(draft: EditDraft) -> HeadingMark | None:
    """The heading that the content starts with, if it repeats that of the section it goes into."""
    if not draft.scope.title or "#" not in draft.content:
        return None
    content = draft.content
    first = next(iter(read_outline(content).marks), None)
    if first is None or content[: first.start].strip() or first.text.casefold() != draft.scope.title.casefold():
        return None
    return first if first.level == draft.scope.level else None


def _drop_heading(draft: EditDraft) -> str:
    first = find_repeated_heading(draft)
    return draft.content[first.end :].lstrip("\n") if first else draft.content


def find_odd_bullets(content: str) -> list[str]:
    """The characters used as bullets in ``content`` that are not bullets in Markdown."""
    found: dict[str, None] = {}
    map_outside_code(
        content, lambda text: found.update(dict.fromkeys(m[2] for m in _ODD_BULLET.finditer(text))) or text
    )
    return list(found)


def _repair_bullets(draft: EditDraft) -> str:
    """Turn ``•`` and the like into the note's bullet, and ``*`` and ``+`` as well if the note has a bullet."""
    content = draft.content
    if not (_ODD_BULLET.search(content) or _OTHER_BULLET.search(content)):
        return content
    own = _own_bullet(draft)
    content = map_outside_code(content, lambda text: _ODD_BULLET.sub(rf"\1{own or '-'} ", text))
    return map_outside_code(content, lambda text: _OTHER_BULLET.sub(rf"\1{own}\2", text)) if own else content


def _own_bullet(draft: EditDraft) -> str:
    """The bullet of the list the content goes into, else of the section, else of the note; '' for none."""
    item, scope, text = draft.point.item, draft.scope, draft.text
    if item and item.number is None:
        return item.marker
    for part in (text[scope.body : scope.end], text[draft.outline.body_start :]):
        if found := _BULLET.search(f"\n{part}"):
            return found[1]
    return ""


REPAIRS: tuple[Callable[[EditDraft], str], ...] = (_drop_heading, _repair_bullets)


def map_outside_code(content: str, change: Callable[[str], str]) -> str:
    """Apply ``change`` to every stretch of ``content`` outside code blocks."""
    parts, at = [], 0
    for start, end in read_outline(content).fences:
        parts += [change(content[at:start]), content[start:end]]
        at = end
    return "".join((*parts, change(content[at:])))


def nest_headings(draft: EditDraft) -> EditDraft:
    """Lower the content's headings until the highest is below the section's, to level six at most."""
    level, edit = draft.scope.level, draft.edit
    if not level or not draft.is_block or edit.guardrails == "off":
        return draft
    marks = read_outline(draft.content).marks
    if not marks or (by := level + 1 - min(mark.level for mark in marks)) <= 0:
        return draft
    parts, at = [], 0
    for mark in marks:
        written = _lower_heading(draft.content[mark.start : mark.end], mark, by)
        parts += [draft.content[at : mark.start], written]
        at = mark.end
    warnings = draft.warnings
    if max(mark.level for mark in marks) + by > 6:
        warnings = (*warnings, "content has headings deeper than six levels below the section: they stay at six")
    return replace(draft, content="".join((*parts, draft.content[at:])), warnings=warnings)


def _lower_heading(written: str, mark: HeadingMark, by: int) -> str:
    hashes = _ATX.match(written)
    if hashes and written.lstrip()[len(hashes[1]) :][:1] in ("", " ", "\t", "\n"):
        return f"{written[: hashes.start(1)]}{'#' * min(mark.level + by, 6)}{written[hashes.end(1) :]}"
    # An underlined heading, which only the two highest levels can be.
    return f"{'#' * min(mark.level + by, 6)} {mark.text}" + ("\n" if written.endswith("\n") else "")


def strip_marker(line: str) -> str:
    """``line`` without the marker of a list item or a task, if it has one."""
    found = ITEM.match(line)
    text = line[found.end() :] if found and found[5] else line
    task = _TASK.match(text)
    return text[task.end() :] if task and found else text
