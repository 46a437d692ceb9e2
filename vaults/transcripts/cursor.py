"""Cursor: its ``state.vscdb``, a database of keys and JSON. Conversations stand in the global one, each message under a
key of its own; those of older versions in one for each workspace."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vaults.errors import InvalidArgument
from vaults.sources.record_fields import parse_json
from vaults.sources.sqlite_file import SqliteFile, open_sqlite
from vaults.transcripts.copilot_chat import folder_of
from vaults.transcripts.file_walk import editor_folders, folders_in
from vaults.transcripts.rewritten import read_changed
from vaults.transcripts.transcript import Conversation, ReadPlace, ToolUse, TranscriptPart, TranscriptReader
from vaults.transcripts.turn_log import TurnLog

_NAME = "cursor"
_FILE = "state.vscdb"
_TIMES = 8
"""How many times ``max_bytes`` of text are read at once: each reading has to copy the database first."""

_COMPOSER, _BUBBLE = "composerData:", "bubbleId:"
_TABS = "workbench.panel.aichat.view.aichat.chatdata"
_PERSON = (1, "user")
_FAILED = {"error": True, "completed": False, "cancelled": None}


def _find(home: Path) -> Iterator[Path]:
    for user in editor_folders(home):
        if user.parts[-2] == "Cursor" or ".cursor-server" in user.parts:
            places = [user / "globalStorage", *folders_in(user / "workspaceStorage")]
            yield from (place / _FILE for place in places if (place / _FILE).is_file())


def _beside(path: Path) -> Iterator[Path]:
    yield path.with_name(f"{path.name}-wal")


def _read(path: Path, place: ReadPlace, max_bytes: int) -> TranscriptPart:
    with open_sqlite(path) as file:
        if not file.has("ItemTable", "key", "value"):
            raise InvalidArgument("PATH", f"{path} is no database of Cursor")
        stamps = [*_composers(file), *_tabs(file)]
        return read_changed(place, stamps, lambda name: _load(file, path, name), max_bytes * _TIMES)


def _composers(file: SqliteFile) -> Iterator[tuple[str, str]]:
    if not file.has("cursorDiskKV", "key", "value"):
        return
    # From one key to the next that begins otherwise: LIKE would go through every message.
    rows = file.query("SELECT key, value FROM cursorDiskKV WHERE key >= ? AND key < ?", (_COMPOSER, "composerData;"))
    for key, value in rows:
        if value:
            yield str(key), _stamp(value)


def _tabs(file: SqliteFile) -> Iterator[tuple[str, str]]:
    value = file.first("SELECT value FROM ItemTable WHERE key = ?", (_TABS,))
    if value:
        for tab in _list(_parse(value), "tabs"):
            yield f"tab:{tab.get('tabId')}", _stamp(json.dumps(tab))


def _load(file: SqliteFile, path: Path, name: str) -> Conversation | None:
    log = TurnLog()
    kind, _, conversation = name.partition(":")
    if kind == "tab":
        tabs = _list(_parse(file.first("SELECT value FROM ItemTable WHERE key = ?", (_TABS,))), "tabs")
        tab = next((each for each in tabs if str(each.get("tabId")) == conversation), {})
        log.name(tab.get("chatTitle"))
        log.note("project", folder_of(path.parent))
        bubbles = iter(_list(tab, "bubbles"))
    else:
        data = _value(file, name)
        _take_facts(data, log)
        bubbles = _bubbles(file, conversation, data)
    for bubble in bubbles:
        _take_bubble(bubble, log)
    return log.to_conversation(conversation, _NAME, whole=True)


def _take_facts(data: dict[str, Any], log: TurnLog) -> None:
    log.name(data.get("name"))
    model, workspace = data.get("modelConfig"), data.get("workspaceIdentifier")
    log.note("agent", model.get("modelName") if isinstance(model, dict) else None)
    uri = workspace.get("uri") if isinstance(workspace, dict) else None
    log.note("project", uri.get("fsPath") or uri.get("path") if isinstance(uri, dict) else None)


def _bubbles(file: SqliteFile, conversation: str, data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Messages in order: in the conversation itself, or each under its own key."""
    headers = _list(data, "fullConversationHeadersOnly")
    inside = data.get("conversationMap")
    for header in headers or _list(data, "conversation"):
        key = header.get("bubbleId")
        found = _value(file, f"{_BUBBLE}{conversation}:{key}") if headers else header
        yield found or (inside.get(key) if isinstance(inside, dict) else None) or {}


def _take_bubble(bubble: dict[str, Any], log: TurnLog) -> None:
    at = bubble.get("createdAt")
    if bubble.get("type") in _PERSON:
        uris = bubble.get("workspaceUris")
        first = uris[0] if isinstance(uris, list) and uris else None
        log.note("project", first.removeprefix("file://") if isinstance(first, str) else None)
        log.say("user", bubble.get("text"), at)
        return
    model, thinking, tool = bubble.get("modelInfo"), bubble.get("thinking"), bubble.get("toolFormerData")
    if isinstance(model, dict) and isinstance(model.get("modelName"), str):
        log.facts["agent"] = model["modelName"]
    if isinstance(thinking, dict):
        log.say("assistant", thinking.get("text"), at, thinking=True)
    log.say("assistant", bubble.get("text") or bubble.get("rawText"), at)
    if isinstance(tool, dict) and tool.get("name"):
        log.did(_to_use(tool), at)


def _to_use(tool: dict[str, Any]) -> ToolUse:
    arguments = _parse(tool.get("rawArgs")) or _parse(tool.get("params"))
    result, status = tool.get("result"), str(tool.get("status"))
    outcome = result if isinstance(result, str) else json.dumps(result) if result else ""
    code = _parse(outcome).get("exitCodeV2", _parse(outcome).get("exitCode")) if "exitCode" in outcome else None
    failed = code != 0 if isinstance(code, int) else _FAILED.get(status)
    return ToolUse(str(tool["name"]), arguments, outcome, failed)


def _value(file: SqliteFile, key: str) -> dict[str, Any]:
    return _parse(file.first("SELECT value FROM cursorDiskKV WHERE key = ?", (key,)))


def _parse(value: Any) -> dict[str, Any]:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    parsed = parse_json(text)
    return parsed if isinstance(parsed, dict) else {}


def _list(holder: dict[str, Any], name: str) -> list[dict[str, Any]]:
    value = holder.get(name)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _stamp(value: Any) -> str:
    data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=8).hexdigest()


READER = TranscriptReader(_NAME, "Cursor", _find, _read, _beside)
