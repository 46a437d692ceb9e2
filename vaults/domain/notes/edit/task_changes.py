"""``tasks``: adding a task to a note, and setting the status of one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from vaults.domain.memories.memory_model import Actor
from vaults.domain.notes.edit import section_edits
from vaults.domain.notes.edit.amendments import Amendment, Revision, Terms
from vaults.domain.notes.edit.changed_lines import region
from vaults.domain.notes.edit.edit_results import Changed
from vaults.domain.notes.edit.single_note import amend
from vaults.domain.notes.read.dated_notes import path_of
from vaults.errors import InvalidArgument
from vaults.markdown.edit.draft import Edit, Guardrails
from vaults.markdown.task_edits import STATUSES, toggled, unboxed
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class New:
    """A task to be. ``status``: a name of ``STATUSES`` or the character in the box."""

    path: str
    text: str
    section: str | None = None
    due: str | None = None
    status: str = "open"


@dataclass(frozen=True, slots=True)
class Toggle:
    """The task in a line, or the only one of a text, or both, which must agree. ``status`` None: done where it is not,
    open where it is."""

    path: str
    line: int | None = None
    match: str | None = None
    status: str | None = None


async def add(vault: Vault, actor: Actor, new: New, terms: Terms) -> Changed:
    """Put a task after those of the section, or of the note. Raises as ``section_edits.edit``."""
    asked, warnings = edit_of(new, vault.notes.settings.guardrails)
    changed = await section_edits.edit(vault, actor, asked, terms)
    return replace(changed, warnings=[*changed.warnings, *warnings]) if warnings else changed


def edit_of(new: New, guardrails: Guardrails) -> tuple[section_edits.Asked, list[str]]:
    """The edit that adds a task, and warnings. Raises ``InvalidArgument``."""
    text, box = unboxed(new.text.strip())
    if not text:
        raise InvalidArgument("text", "is needed: what the task is")
    if "\n" in text or "\r" in text:
        raise InvalidArgument("text", "must be one line")
    status = STATUSES.get(new.status, new.status)
    if len(status) != 1 or not status.isprintable() or status in "[]":
        raise InvalidArgument("status", f"must be one character, or one of {', '.join(STATUSES)}")
    due = f" 📅 {new.due}" if new.due and f"📅 {new.due}" not in text else ""
    edit = Edit("add", new.section, f"[{status}] {text}{due}", guardrails=guardrails)
    warning = f"text began with a box of its own, {box}, which is left out: status sets it"
    return section_edits.Asked(new.path, edit, "task"), [warning] if box else []


async def toggle(vault: Vault, actor: Actor, wanted: Toggle, terms: Terms) -> Changed:
    """Set a task's status: one character of the note changes. Raises ``NotFound`` with the closest tasks, ``Conflict``
    where several fit or the line holds another by now."""
    return await amend(vault, actor, await toggling(vault, wanted), terms)


async def toggling(vault: Vault, wanted: Toggle) -> Amendment:
    """The change that setting a task's status is. Raises ``InvalidArgument``."""

    def revise(text: str) -> Revision:
        new, line = toggled(text, wanted.line, wanted.match, wanted.status)
        return Revision(new, "set a task of", [], region(text, new).text, line, line)

    return Amendment(await path_of(vault, wanted.path), revise)
