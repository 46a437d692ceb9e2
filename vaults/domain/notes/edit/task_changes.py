"""``tasks``: adding a task to a note, and setting the status of one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from vaults.domain.actors import Actor
from vaults.domain.notes.edit import section_edits
from vaults.domain.notes.edit.amendments import Amendment, EditOptions, Revision
from vaults.domain.notes.edit.changed_lines import find_changed_region
from vaults.domain.notes.edit.edit_results import EditResult
from vaults.domain.notes.edit.single_note import apply_amendment
from vaults.domain.notes.read.dated_notes import resolve_path
from vaults.errors import InvalidArgument
from vaults.markdown.edit.draft import Guardrails, TextEdit
from vaults.markdown.task_edits import STATUSES, set_task_status, split_box
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task to add."""

    path: str
    text: str
    section: str | None = None
    due: str | None = None
    status: str = "open"  # a name in ``STATUSES``, or the character in the box


@dataclass(frozen=True, slots=True)
class ToggleRequest:
    """The task in a line, or the only one with a text; if both are given, they must agree."""

    path: str
    line: int | None = None
    match: str | None = None
    status: str | None = None  # None: toggle between done and open


async def add_task(vault: Vault, actor: Actor, new: NewTask, options: EditOptions) -> EditResult:
    """Add a task after those of the section, or of the note. Raises the errors of ``section_edits.edit``."""
    request, warnings = to_edit_request(new, vault.notes.settings.guardrails)
    changed = await section_edits.edit(vault, actor, request, options)
    return replace(changed, warnings=[*changed.warnings, *warnings]) if warnings else changed


def to_edit_request(new: NewTask, guardrails: Guardrails) -> tuple[section_edits.EditRequest, list[str]]:
    """The edit that adds a task, and warnings. Raises ``InvalidArgument``."""
    text, box = split_box(new.text.strip())
    if not text:
        raise InvalidArgument("text", "is needed: what the task is")
    if "\n" in text or "\r" in text:
        raise InvalidArgument("text", "must be one line")
    status = STATUSES.get(new.status, new.status)
    if len(status) != 1 or not status.isprintable() or status in "[]":
        raise InvalidArgument("status", f"must be one character, or one of {', '.join(STATUSES)}")
    due = f" 📅 {new.due}" if new.due and f"📅 {new.due}" not in text else ""
    edit = TextEdit("add", new.section, f"[{status}] {text}{due}", guardrails=guardrails)
    warning = f"text began with a box of its own, {box}, which is left out: status sets it"
    return section_edits.EditRequest(new.path, edit, "task"), [warning] if box else []


async def toggle_task(vault: Vault, actor: Actor, request: ToggleRequest, options: EditOptions) -> EditResult:
    """Set a task's status: one character of the note changes. Raises ``NotFound`` with the closest tasks, ``Conflict``
    where several match or the line now holds another."""
    return await apply_amendment(vault, actor, await plan_toggle(vault, request), options)


async def plan_toggle(vault: Vault, request: ToggleRequest) -> Amendment:
    """Plan a change of a task's status. Raises ``InvalidArgument``."""

    def revise(text: str) -> Revision:
        new, line = set_task_status(text, request.line, request.match, request.status)
        return Revision(
            text=new,
            summary="set a task of",
            warnings=[],
            region=find_changed_region(text, new).text,
            first_line=line,
            last_line=line,
        )

    return Amendment(await resolve_path(vault, request.path), revise)
