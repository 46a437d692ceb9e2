"""The forms of a memory: what each asks for, and the call of a tool it becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from server.ui.forms import whole_number

Arguments = dict[str, Any]
ToArguments = Callable[[str, Mapping[str, str], Mapping[str, Any]], Arguments | None]


@dataclass(frozen=True, slots=True)
class MemoryForm:
    """``fields``: what is typed or carried along. ``arguments``: of the id, what was typed and the memory as it is
    makes the arguments of the tool; None where nothing would change."""

    name: str
    tool: str
    fields: tuple[str, ...]
    arguments: ToArguments
    for_admins: bool = False


def _edit(memory_id: str, typed: Mapping[str, str], memory: Mapping[str, Any]) -> Arguments | None:
    """Only what differs: a field nobody touched keeps what somebody else may have made of it."""
    before = shown_values(EDIT, memory)
    changed: Arguments = {
        name: typed[name] for name in ("title", "content", "type", "tier") if typed[name] != before[name]
    }
    if typed["thread"] != before["thread"]:
        changed["thread"] = typed["thread"]
    if _to_tags(typed["tags"]) != memory["tags"]:
        changed["tags"] = _to_tags(typed["tags"])
    if not changed:
        return None
    version = whole_number(typed["expected_version"], 9)
    expected = {} if version is None else {"expected_version": version}
    return {"id": memory_id, **changed, **expected}


def _supersede(memory_id: str, typed: Mapping[str, str], _: Mapping[str, Any]) -> Arguments:
    optional = {name: typed[name].strip() for name in ("title", "reason") if typed[name].strip()}
    return {"id": memory_id, "content": typed["content"], **optional}


def _forget(memory_id: str, typed: Mapping[str, str], _: Mapping[str, Any]) -> Arguments:
    reason = typed["reason"].strip()
    return {"ids": [memory_id], **({"reason": reason} if reason else {})}


def _purge(memory_id: str, typed: Mapping[str, str], memory: Mapping[str, Any]) -> Arguments:
    return {**_forget(memory_id, typed, memory), "purge": True}


def _to_tags(text: str) -> list[str]:
    return list(dict.fromkeys(tag for each in text.split(",") if (tag := each.strip())))


EDIT = MemoryForm(
    "edit", "memory_update", ("title", "content", "type", "tier", "thread", "tags", "expected_version"), _edit
)
SUPERSEDE = MemoryForm("supersede", "memory_supersede", ("content", "title", "reason"), _supersede)
FORGET = MemoryForm("forget", "memory_forget", ("reason",), _forget)
PURGE = MemoryForm("purge", "memory_forget", ("reason",), _purge, for_admins=True)
FORMS = (EDIT, SUPERSEDE, FORGET, PURGE)


def form_named(name: str) -> MemoryForm | None:
    """The form a page calls so."""
    return next((form for form in FORMS if form.name == name), None)


def shown_values(form: MemoryForm, memory: Mapping[str, Any]) -> dict[str, str]:
    """What a form shows before anybody types."""
    if form.name != "edit":
        return {name: memory["content"] if name == "content" else "" for name in form.fields}
    return {
        "title": memory["title"],
        "content": memory["content"].replace("\r\n", "\n"),
        "type": memory["type"],
        "tier": memory["tier"],
        "thread": memory.get("thread") or "",
        "tags": ", ".join(memory["tags"]),
        "expected_version": str(memory["version"]),
    }
