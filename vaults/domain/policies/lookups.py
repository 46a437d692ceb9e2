"""What a policy reads from notes before its first step: its conditions and collections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vaults.context import run_in
from vaults.domain.notes.edit.drafts import DraftNotes
from vaults.domain.notes.read.dated_notes import resolve_path
from vaults.domain.notes.read.note_lookup import OpenNote
from vaults.domain.policies.definitions import CollectSpec, Condition
from vaults.errors import InvalidArgument, NotFound
from vaults.files.paths import collision_key, to_note_path
from vaults.markdown import parser as markdown
from vaults.markdown import sections
from vaults.markdown.task_edits import STATUSES

MAX_TASKS = 200
MAX_COLLECTED = 100_000
"""Max tasks, and max characters, collected from one note: more is an error, for anything left out would be lost."""


async def is_condition_met(draft: DraftNotes, condition: Condition) -> bool:
    """Whether a condition, its templates filled in, is met. Raises ``InvalidArgument`` for an invalid path."""
    note = await _read_note(draft, condition.path)
    if note is None:
        return condition.exists is False
    return await run_in(draft.vault.shared.pool, _is_met, note.text, condition)


async def collect(draft: DraftNotes, spec: CollectSpec) -> Any:
    """Collect tasks, as mappings of ``text``, ``status``, ``line``, ``due`` and ``section``; the text of a section; or
    the value of a property. An empty list, '' or None for something missing."""
    note = await _read_note(draft, spec.path)
    if note is None:
        return _empty_value(spec)
    return await run_in(draft.vault.shared.pool, _collect_from, note.text, spec)


async def _read_note(draft: DraftNotes, name: str) -> OpenNote | None:
    """The note at exactly this path: one with the same name elsewhere does not count."""
    path = to_note_path(await resolve_path(draft.vault, name))
    try:
        note = await draft.open_note(path)
    except NotFound:
        return None
    return note if collision_key(note.path) == collision_key(path) else None


def _is_met(text: str, condition: Condition) -> bool:
    parsed = markdown.parse(text)
    if condition.section is not None:
        return (_section_text(text, parsed, condition.section) is not None) == condition.exists
    if condition.property is None:
        return condition.exists is True
    if condition.exists is not None:
        return (condition.property in parsed.frontmatter) == condition.exists
    value = parsed.frontmatter.get(condition.property)
    if condition.among is not None:
        return any(_is_same(value, each) for each in condition.among)
    return _is_same(value, condition.equals)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal, where true is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _section_text(text: str, parsed: markdown.ParsedNote, wanted: str) -> sections.Section | None:
    try:
        return sections.find_section(text, parsed, wanted)
    except (NotFound, InvalidArgument):
        return None


def _empty_value(spec: CollectSpec) -> Any:
    if spec.tasks is not None:
        return []
    return "" if spec.section is not None else None


def _collect_from(text: str, spec: CollectSpec) -> Any:
    parsed = markdown.parse(text)
    if spec.property is not None:
        return _to_plain(parsed.frontmatter.get(spec.property))
    found = _section_text(text, parsed, spec.section) if spec.section is not None else None
    if spec.section is not None and found is None:
        return _empty_value(spec)
    if spec.tasks is None:
        assert found is not None
        return _check_length(text[found.body_start : found.end].replace("\r\n", "\n").strip())
    start, end = (found.start, found.end) if found is not None else (0, len(text))
    status = STATUSES.get(spec.tasks, spec.tasks).lower()
    tasks = [each for each in parsed.tasks if start <= each.start < end and status in ("all", each.status.lower())]
    if len(tasks) > MAX_TASKS:
        raise InvalidArgument("collect", f"finds {len(tasks):,} tasks; {MAX_TASKS} is the most")
    _check_length("".join(each.text for each in tasks))
    return [_to_mapping(each) for each in tasks]


def _check_length(text: str) -> str:
    if len(text) > MAX_COLLECTED:
        raise InvalidArgument("collect", f"finds {len(text):,} characters; {MAX_COLLECTED:,} is the most")
    return text


def _to_mapping(task: markdown.Task) -> Mapping[str, Any]:
    return {
        "text": task.text,
        "status": task.status,
        "line": task.line,
        "due": task.due,
        "section": task.heading,
    }


def _to_plain(value: Any) -> Any:
    """A value that templates can show: no mappings, and lists of plain values only."""
    if isinstance(value, list):
        return [each for each in value if not isinstance(each, (list, dict))]
    return None if isinstance(value, dict) else value
