"""Steps of Flywheel's policies as calls of our tools. As of Flywheel 2.12."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from vaults.sources.flywheel_templates import PolicyNames, PolicyUnsayable, to_template, to_value

_GROUP = re.compile(r"\$([1-9&$])")
_GROUPS = {"$": "$", "&": "\\0"}

Params: TypeAlias = Mapping[str, Any]
ToolCall: TypeAlias = tuple[str, dict[str, Any]]
"""The name of a tool and its arguments but the path; None for those that are not given."""


def to_call(tool: str, params: Params, names: PolicyNames) -> ToolCall:
    """The call that a step comes to. Raises ``PolicyUnsayable``."""
    translate = _TOOLS.get(tool)
    if translate is None:
        raise PolicyUnsayable(f"the tool {tool[:60]} has no counterpart in a policy")
    name, args = translate(params, names)
    kept = {key: value for key, value in args.items() if value is not None}
    return name, {"path": require_text(params, names, "path"), **kept}


def require_text(params: Params, names: PolicyNames, name: str) -> str:
    """A text that must be there."""
    found = params.get(name)
    if found is None or not str(found).strip():
        raise PolicyUnsayable(f"{name} is missing")
    return to_template(str(found), names)


def _given(params: Params, names: PolicyNames, *wanted: str) -> dict[str, Any]:
    return {name: to_value(params[name], names) for name in wanted if params.get(name) is not None}


def _add(params: Params, names: PolicyNames) -> ToolCall:
    kept = _given(params, names, "section", "content", "position", "format")
    return "note_edit", {**kept, "preserve_nesting": False if params.get("preserveListNesting") is False else None}


def _remove(params: Params, names: PolicyNames) -> ToolCall:
    sought = "pattern" if params.get("useRegex") else "search"
    kept = {**_given(params, names, "section"), sought: require_text(params, names, "pattern")}
    return "note_edit", {"action": "remove", **kept, "occurrence": params.get("mode")}


def _replace(params: Params, names: PolicyNames) -> ToolCall:
    new, sought = str(params.get("replacement") or ""), "search"
    if params.get("useRegex"):  # \1 is a group here, and \0 the whole match
        new, sought = _GROUP.sub(lambda found: _GROUPS.get(found[1], f"\\{found[1]}"), new), "pattern"
    kept = {**_given(params, names, "section"), sought: require_text(params, names, "search")}
    replacement = to_template(new, names)
    return "note_edit", {"action": "replace", **kept, "replacement": replacement, "occurrence": params.get("mode")}


def _create(params: Params, names: PolicyNames) -> ToolCall:
    return "note_write", {
        **_given(params, names, "content", "frontmatter", "template"),
        "mode": "overwrite" if params.get("overwrite") is True else None,
    }


def _delete(_: Params, __: PolicyNames) -> ToolCall:
    return "note_delete", {}


def _toggle_task(params: Params, names: PolicyNames) -> ToolCall:
    if params.get("section"):
        raise PolicyUnsayable("a task cannot be toggled by its section")
    return "tasks", {"action": "toggle", "text": require_text(params, names, "task")}


def _add_task(params: Params, names: PolicyNames) -> ToolCall:
    text, section = require_text(params, names, "task"), _given(params, names, "section")
    if params.get("position") != "prepend":
        return "tasks", {
            "action": "add",
            **section,
            "text": text,
            "status": "done" if params.get("completed") else None,
        }
    if params.get("completed"):
        raise PolicyUnsayable("a done task cannot be put before the others")
    return "note_edit", {**section, "content": text, "format": "task", "position": "prepend"}


def _update_frontmatter(params: Params, names: PolicyNames) -> ToolCall:
    values = params.get("frontmatter") or params.get("fields")
    if not isinstance(values, dict) or not values:
        raise PolicyUnsayable("frontmatter is missing")
    return "frontmatter_update", {"set": to_value(values, names)}


def _add_field(params: Params, names: PolicyNames) -> ToolCall:
    key = str(params.get("key") or "")
    if not key or "{{" in key:
        raise PolicyUnsayable("the name of a field must be written out")
    return "frontmatter_update", {"set": {key: to_value(params.get("value"), names)}, "only_if_missing": True}


_TOOLS: Mapping[str, Callable[[Params, PolicyNames], ToolCall]] = {
    "vault_add_to_section": _add,
    "vault_remove_from_section": _remove,
    "vault_replace_in_section": _replace,
    "vault_create_note": _create,
    "vault_delete_note": _delete,
    "vault_toggle_task": _toggle_task,
    "vault_add_task": _add_task,
    "vault_update_frontmatter": _update_frontmatter,
    "vault_add_frontmatter_field": _add_field,
}
