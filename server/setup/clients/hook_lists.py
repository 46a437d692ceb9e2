"""Our hooks in lists of a client's JSON file, below ``hooks``: beside those of others, which stay."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any

from server.setup.clients.config_edits import ConfigEdit, Edited
from server.setup.clients.jsonc import parse
from server.setup.clients.jsonc_edits import drop_json, put_json, read_json

Json = dict[str, Any]

NAME = "strongroom-hooks"
_OURS = re.compile(r"strongroom(?:\.exe)?['\"]? hook (?:session-start|prompt|stop)\b")


def lists_edit(beside: Json) -> ConfigEdit:
    """How such a file is edited; entries are lists by event. ``beside``: what else it must say."""
    return ConfigEdit(
        name=NAME,
        what="hooks of strongroom",
        read=read_json,
        find=_find,
        put=partial(_put, beside),
        drop=lambda text: _put({}, text, {}),
        is_ours=lambda _: True,
    )


def _find(content: Json) -> Json | None:
    """Our hooks of each event."""
    found = {event: [each for each in hooks if _is_ours(each)] for event, hooks in _lists(content).items()}
    return {event: ours for event, ours in found.items() if ours} or None


def _lists(content: Json) -> dict[str, list[Any]]:
    hooks = content.get("hooks")
    return {event: each for event, each in hooks.items() if isinstance(each, list)} if isinstance(hooks, dict) else {}


def _is_ours(hook: Any) -> bool:
    """Whether an element of a list, alone or as a group, runs nothing but our command."""
    if not isinstance(hook, dict):
        return False
    group = hook.get("hooks", [hook])
    commands = [each.get("command") for each in group if isinstance(each, dict)] if isinstance(group, list) else []
    return bool(commands) and all(isinstance(each, str) and _OURS.search(each) for each in commands)


def _put(beside: Json, text: str, entry: Json) -> Edited:
    """Our hooks are the last of each list. Raises ``ValueError`` where something else than a list stands."""
    content = read_json(text)
    for key, value in beside.items():
        if key not in content:
            text, content = put_json(text, (key,), value), {**content, key: value}
    if not isinstance(content.get("hooks", {}), dict):
        raise ValueError("hooks should be an object")  # noqa: TRY004  it is the text that is wrong
    hooks = dict(content.get("hooks", {}))
    for event in dict.fromkeys((*(_find(content) or {}), *entry)):
        text = _put_event(text, hooks, event, entry.get(event, []))
    if hooks:
        return text, {**content, "hooks": hooks}
    rest = {key: value for key, value in content.items() if key != "hooks"}
    return (drop_json(text, ("hooks",)) if "hooks" in content else text), rest


def _put_event(text: str, hooks: Json, event: str, ours: list[Any]) -> str:
    """The text with our hooks of one event, which ``hooks`` has afterwards as well."""
    before = hooks.get(event, [])
    if not isinstance(before, list):
        raise ValueError(f"hooks.{event} should be a list")  # noqa: TRY004  it is the text that is wrong
    after = [*(each for each in before if not _is_ours(each)), *ours]
    if after == before:
        return text
    _refuse_comments(text, event)
    if after:
        hooks[event] = after
        return put_json(text, ("hooks", event), after)
    del hooks[event]
    return drop_json(text, ("hooks", event))


def _refuse_comments(text: str, event: str) -> None:
    """Raise ``ValueError`` if the list of an event holds more than its values: it is written anew."""
    node = parse(text, ["hooks", event])
    for key in ("hooks", event):
        member = node.member(key) if node is not None and node.members is not None else None
        node = member.node if member is not None else None
    try:
        if node is not None:
            json.loads(text[node.begin : node.end])
    except ValueError:
        raise ValueError(f"hooks.{event} has comments in it, which would be lost") from None
