"""Finds the part of the note that an edit means: the section as ``sections`` reads the caller's wording, or where to
create it. Pure."""

from __future__ import annotations

import re
from dataclasses import replace

from vaults.errors import InvalidArgument, NotFound
from vaults.markdown import sections
from vaults.markdown.edit.draft import EditDraft, EditScope
from vaults.markdown.edit.outline import read_outline

NEW_LEVEL = 2
"""Heading level of a created section if the caller's wording gives none."""

_LEVEL = re.compile(r"[ \t]*(#{1,6})[ \t]+(?=\S)")
_PATH = " > "


def locate_section(draft: EditDraft) -> EditDraft:
    """Find the section. Raises ``NotFound`` with the closest headings, ``InvalidArgument`` if more than one fits:
    editing the wrong one would be worse than asking back."""
    found = read_outline(draft.text)
    whole = EditScope(0, found.body_start, found.body_start, len(draft.text), len(draft.text))
    draft = replace(draft, outline=found, scope=whole)
    wanted = draft.edit.section
    if wanted is None:
        return draft
    try:
        return replace(draft, scope=_scope_of(draft, _find_heading(draft, wanted)))
    except NotFound:
        if draft.edit.action != "add" or not draft.edit.create_section:
            raise
    return _plan_section(draft, wanted)


def _find_heading(draft: EditDraft, wanted: str) -> int:
    """The index of the heading that ``wanted`` means."""
    marks, name = draft.outline.marks, wanted.strip()
    named = [index for index, mark in enumerate(marks) if mark.text == name]
    if len(named) == 1:
        return named[0]  # what `find_only_section` tries first, without building a value for every heading
    start = sections.find_only_section(draft.text, draft.outline.note(draft.text), wanted).start
    return next(index for index, mark in enumerate(marks) if mark.start == start)


def _scope_of(draft: EditDraft, index: int) -> EditScope:
    marks, size = draft.outline.marks, len(draft.text)
    mark = marks[index]
    own_end = marks[index + 1].start if index + 1 < len(marks) else size
    end = next((below.start for below in marks[index + 1 :] if below.level <= mark.level), size)
    return EditScope(level=mark.level, start=mark.start, body=mark.end, own_end=own_end, end=end, title=mark.text)


def _plan_section(draft: EditDraft, wanted: str) -> EditDraft:
    """The draft with the heading to create, and where: in the parent the caller names, else at the end of the note."""
    above, _, own = wanted.rpartition(_PATH)
    hashes = _LEVEL.match(own)
    title = own[hashes.end() if hashes else 0 :].strip()
    if not title or "\n" in title or "\r" in title:
        raise InvalidArgument("section", "is no heading that could be made: it needs text, all on one line")
    if above:
        draft = replace(draft, scope=_scope_of(draft, _find_heading(draft, above)))
    level = len(hashes[1]) if hashes else min(draft.scope.level + 1, 6) if above else NEW_LEVEL
    if above and level <= draft.scope.level:
        raise InvalidArgument(
            "section", f"cannot be made at level {level} below a heading of level {draft.scope.level}"
        )
    warnings = (*draft.warnings, f"The section '{title}' was missing and has been made.")
    scope = replace(draft.scope, level=level, title=title)
    return replace(draft, scope=scope, heading=f"{'#' * level} {title}", warnings=warnings)
