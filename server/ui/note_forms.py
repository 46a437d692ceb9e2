"""The forms of a note: what each asks for, and the call of a tool it becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from server.ui.forms import whole_number

Arguments = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NoteForm:
    """``fields``: what is typed or carried along. ``arguments``: of the path and what was typed. ``done``: what the
    next page says."""

    name: str
    tool: str
    fields: tuple[str, ...]
    arguments: Callable[[str, Mapping[str, str]], Arguments]
    done: str


def _save(path: str, typed: Mapping[str, str]) -> Arguments:
    """The whole note. Its tag says which text was edited: of one that changed meanwhile, nothing is overwritten."""
    return {"path": path, "mode": "overwrite", "content": typed["content"], "etag": typed["etag"]}


def _create(path: str, typed: Mapping[str, str]) -> Arguments:
    name = path if path.lower().endswith((".md", ".markdown")) else f"{path}.md"
    return {"path": name, "content": typed["content"]}


def _tick(path: str, typed: Mapping[str, str]) -> Arguments:
    line, _, status = typed["task"].partition(" ")
    return {
        "action": "toggle",
        "path": path,
        "line": whole_number(line, 9) or 0,
        "status": status,
        "etag": typed["etag"],
    }


def _undo(path: str, typed: Mapping[str, str]) -> Arguments:
    return {"action": "undo", "path": path, "ref": typed["ref"]}


SAVE = NoteForm("save", "note_write", ("content", "etag"), _save, "edit")
CREATE = NoteForm("create", "note_write", ("content",), _create, "create")
TICK = NoteForm("tick", "tasks", ("task", "etag"), _tick, "tick")
UNDO = NoteForm("undo", "history", ("ref",), _undo, "undo")
FORMS = (SAVE, CREATE, TICK, UNDO)


def form_named(name: str) -> NoteForm | None:
    """The form a page calls so."""
    return next((form for form in FORMS if form.name == name), None)
