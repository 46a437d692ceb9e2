"""Chats of VS Code, with Copilot and others: a file for each, ``workspaceStorage/*/chatSessions/*.json``, or in
newer versions a log of changes to the same object, ``.jsonl``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from vaults.errors import InvalidArgument
from vaults.transcripts.file_walk import editor_folders, folders_in, walk_files
from vaults.transcripts.grown_lines import open_regular, parse_record
from vaults.transcripts.rewritten import MAX_BYTES, load_json, load_json_or_none, read_rewritten
from vaults.transcripts.transcript import Conversation, ReadPlace, ToolUse, TranscriptPart, TranscriptReader
from vaults.transcripts.turn_log import TurnLog

_NAME = "copilot-chat"
_SNAPSHOT, _SET, _PUSH, _DELETE = range(4)
_MAX_INDEX = 100_000
"""Max elements of a list that a log of changes may make."""


def _find(home: Path) -> Iterator[Path]:
    for user in editor_folders(home):
        folders = [each / "chatSessions" for each in folders_in(user / "workspaceStorage")]
        for folder in (*folders, user / "globalStorage" / "emptyWindowChatSessions"):
            found = [*walk_files(folder, ".json", 0), *walk_files(folder, ".jsonl", 0)]
            logs = {path.stem for path in found if path.suffix == ".jsonl"}
            yield from (path for path in found if path.suffix == ".jsonl" or path.stem not in logs)


def _read(path: Path, place: ReadPlace, max_bytes: int) -> TranscriptPart:
    del max_bytes
    return read_rewritten(path, place, _load)


def _load(path: Path) -> Conversation | None:
    chat = _replay(path) if path.suffix == ".jsonl" else load_json(path)
    if not isinstance(chat, dict) or not isinstance(chat.get("requests"), list):
        raise InvalidArgument("PATH", f"{path} is no chat of VS Code")
    log = TurnLog()
    log.name(chat.get("customTitle"))
    log.note("project", folder_of(path.parents[1]))
    for request in chat["requests"]:
        if isinstance(request, dict):
            _take_request(request, log)
    named = chat.get("sessionId")
    return log.to_conversation(named if isinstance(named, str) and named else path.stem, _NAME, whole=True)


def folder_of(workspace: Path) -> str | None:
    """The folder that a workspace of VS Code was opened for."""
    facts = load_json_or_none(workspace / "workspace.json")
    folder = facts.get("folder") if isinstance(facts, dict) else None
    if not isinstance(folder, str):
        return None
    try:
        return unquote(urlsplit(folder).path) or None
    except ValueError:
        return None


def _replay(path: Path) -> Any:
    """The object that a log of changes ends with."""
    with open_regular(path) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InvalidArgument("PATH", f"{path} has more than {MAX_BYTES >> 20} MB")
    chat: Any = None
    for line in data.split(b"\n"):
        record = parse_record(line)
        if record is None:
            continue
        keys = record.get("k")
        if record.get("kind") == _SNAPSHOT:
            chat = record.get("v")
        elif isinstance(keys, list) and keys:
            _change(chat, keys, record)
    return chat


def _change(chat: Any, keys: list[Any], record: dict[str, Any]) -> None:
    """One change. What has no place in the object is passed over."""
    holder = chat
    for key in keys[:-1]:
        holder = _get(holder, key)
    last, kind, value = keys[-1], record.get("kind"), record.get("v")
    if kind == _PUSH:
        held = _get(holder, last)
        if not isinstance(held, list):
            held = []
            _put(holder, last, held)
        if isinstance(start := record.get("i"), int) and start >= 0:
            del held[start:]
        held.extend(value if isinstance(value, list) else [])
    elif kind == _SET:
        _put(holder, last, value)
    elif kind == _DELETE and isinstance(holder, dict) and isinstance(last, str):
        holder.pop(last, None)


def _get(holder: Any, key: Any) -> Any:
    if isinstance(holder, dict):
        return holder.get(key) if isinstance(key, str) else None
    is_inside = isinstance(holder, list) and isinstance(key, int) and 0 <= key < len(holder)
    return holder[key] if is_inside else None


def _put(holder: Any, key: Any, value: Any) -> None:
    if isinstance(holder, dict) and isinstance(key, str):
        holder[key] = value
    elif isinstance(holder, list) and isinstance(key, int) and 0 <= key < _MAX_INDEX:
        holder.extend([None] * (key + 1 - len(holder)))
        holder[key] = value


def _take_request(request: dict[str, Any], log: TurnLog) -> None:
    at, message, model = request.get("timestamp"), request.get("message"), request.get("modelId")
    if isinstance(model, str) and model:
        log.facts["agent"] = model
    log.say("user", message.get("text") if isinstance(message, dict) else message, at)
    response, said = request.get("response"), list[str]()
    for part in response if isinstance(response, list) else ():
        if isinstance(part, dict):
            said = _take_part(part, said, at, log)
    log.say("assistant", "".join(said), at)


def _take_part(part: dict[str, Any], said: list[str], at: Any, log: TurnLog) -> list[str]:
    """Text goes on until something else is done; returns what was said and not yet added."""
    kind, value = part.get("kind"), part.get("value")
    if kind is None or kind in ("markdownContent", "markdownVuln"):
        text = value if isinstance(value, str) else _text_of(part.get("content", value))
        return [*said, text]
    if kind == "inlineReference":
        return [*said, f"`{part.get('name') or _name_of(part.get('inlineReference'))}`"]
    if str(kind) not in ("thinking", "toolInvocationSerialized", "textEditGroup"):
        return said
    log.say("assistant", "".join(said), at)
    if kind == "thinking":
        lines = value if isinstance(value, list) else [value]
        log.say("assistant", "\n".join(each for each in lines if isinstance(each, str)), at, thinking=True)
    elif kind == "textEditGroup":
        log.did(ToolUse("edit", {"path": _name_of(part.get("uri"))}), at)
    else:
        log.did(_to_use(part), at)
    return []


def _text_of(content: Any) -> str:
    text = content.get("value") if isinstance(content, dict) else content
    return text if isinstance(text, str) else ""


def _name_of(uri: Any) -> str:
    inner = uri.get("uri", uri.get("location", uri)) if isinstance(uri, dict) else None
    path = inner.get("fsPath") or inner.get("path") if isinstance(inner, dict) else None
    return path if isinstance(path, str) else ""


def _to_use(part: dict[str, Any]) -> ToolUse:
    details, specific = part.get("resultDetails"), part.get("toolSpecificData")
    arguments: dict[str, Any] = {}
    outcome, failed = "", None
    if isinstance(specific, dict) and specific.get("kind") == "terminal":
        line, state = specific.get("commandLine"), specific.get("terminalCommandState")
        command = line.get("original") if isinstance(line, dict) else specific.get("command")
        arguments = {"command": command}
        code = state.get("exitCode") if isinstance(state, dict) else None
        failed = code != 0 if isinstance(code, int) else None
    if isinstance(details, dict):
        given = details.get("output")
        outcome = "\n".join(_text_of(each) for each in given) if isinstance(given, list) else _text_of(given)
        failed = details["isError"] if isinstance(details.get("isError"), bool) else failed
        arguments = arguments or ({"input": details["input"]} if details.get("input") else {})
    said = part.get("pastTenseMessage") or part.get("invocationMessage")
    return ToolUse(str(part.get("toolId")), arguments or {"description": _text_of(said)}, outcome, failed)


READER = TranscriptReader(_NAME, "VS Code chat", _find, _read)
