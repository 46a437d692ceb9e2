"""Gemini CLI: a file for each session, ``~/.gemini/tmp/<project>/chats/session-*.json``, in newer versions ``.jsonl``.

Lines replace messages of the same id, take some back, or set everything anew: the file is always read whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vaults.errors import InvalidArgument
from vaults.transcripts.file_walk import folders_in, walk_files
from vaults.transcripts.grown_lines import open_regular, parse_record
from vaults.transcripts.rewritten import MAX_BYTES, load_json, load_json_or_none, read_rewritten
from vaults.transcripts.transcript import Conversation, ReadPlace, ToolUse, TranscriptPart, TranscriptReader
from vaults.transcripts.turn_log import TurnLog

_NAME = "gemini-cli"
_FAILED = {"error": True, "success": False}
_FIELDS = ("sessionId", "projectHash", "summary", "kind", "directories")
_INSERTED = ("<session_context>", "This is the Gemini CLI. We are setting up")
_KEY_DIGITS = 12


def _find(home: Path) -> Iterator[Path]:
    for project in folders_in(home / ".gemini" / "tmp"):
        found = [*walk_files(project / "chats", ".json", 1), *walk_files(project / "chats", ".jsonl", 1)]
        names = {path.name for path in found}
        # A session that was resumed by a newer version stands in both.
        yield from (path for path in found if not (path.suffix == ".json" and f"{path.stem}.jsonl" in names))


def _read(path: Path, place: ReadPlace, max_bytes: int) -> TranscriptPart:
    del max_bytes
    return read_rewritten(path, place, _load)


def _load(path: Path) -> Conversation | None:
    facts, messages = _load_lines(path) if path.suffix == ".jsonl" else _load_whole(path)
    if not isinstance(facts.get("sessionId"), str):
        raise InvalidArgument("PATH", f"{path} is no session of Gemini CLI")
    log = TurnLog()
    log.name(facts.get("summary"))
    log.note("project", _project_of(path, facts))
    if facts.get("kind") == "subagent":
        log.note("parent", path.parent.name)
    for message in messages:
        _take(message, log)
    return log.to_conversation(facts["sessionId"], _NAME, whole=True)


def _load_whole(path: Path) -> tuple[dict[str, Any], list[Any]]:
    value = load_json(path)
    facts = value if isinstance(value, dict) else {}
    messages = facts.get("messages")
    return facts, messages if isinstance(messages, list) else []


def _load_lines(path: Path) -> tuple[dict[str, Any], list[Any]]:
    with open_regular(path) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InvalidArgument("PATH", f"{path} has more than {MAX_BYTES >> 20} MB")
    facts: dict[str, Any] = {}
    messages: dict[str, Any] = {}
    for line in data.split(b"\n"):
        record = parse_record(line)
        if record is not None:
            messages = _apply(record, facts, messages)
    return facts, list(messages.values())


def _apply(record: dict[str, Any], facts: dict[str, Any], messages: dict[str, Any]) -> dict[str, Any]:
    """The messages by id after one more line; ``facts`` are updated."""
    if "$rewindTo" in record:
        ids, back_to = list(messages), str(record["$rewindTo"])
        kept = ids[: ids.index(back_to)] if back_to in messages else []
        return {each: messages[each] for each in kept}
    if isinstance(record.get("id"), str) and "type" in record:
        messages[record["id"]] = record
        return messages
    changed = record["$set"] if isinstance(record.get("$set"), dict) else record
    facts.update({name: changed[name] for name in _FIELDS if name in changed})
    if isinstance(changed.get("messages"), list):
        return {str(each.get("id")): each for each in changed["messages"] if isinstance(each, dict)}
    return messages


def _take(message: Any, log: TurnLog) -> None:
    if not isinstance(message, dict):
        return
    at = message.get("timestamp")
    if message.get("type") == "user":
        text = _text_of(message.get("displayContent") or message.get("content"))
        log.say("user", "" if text.lstrip().startswith(_INSERTED) else text, at)
    elif message.get("type") == "gemini":
        if isinstance(message.get("model"), str):
            log.facts["agent"] = message["model"]
        for thought in _objects(message.get("thoughts")):
            said = [thought.get("subject"), thought.get("description")]
            log.say("assistant", "\n".join(each for each in said if isinstance(each, str)), at, thinking=True)
        log.say("assistant", _text_of(message.get("content")), at)
        for call in _objects(message.get("toolCalls")):
            log.did(_to_use(call), call.get("timestamp") or at)


def _to_use(call: dict[str, Any]) -> ToolUse:
    responses = [part.get("functionResponse") for part in _objects(call.get("result"))]
    given = [each.get("response") for each in responses if isinstance(each, dict)]
    outcomes = [str(each.get("output") or each.get("error") or "") for each in given if isinstance(each, dict)]
    arguments = call.get("args")
    return ToolUse(
        str(call.get("name")),
        arguments if isinstance(arguments, dict) else {},
        "\n".join(outcomes),
        _FAILED.get(str(call.get("status"))),
    )


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text_of(parts: Any) -> str:
    """The text of what is a text, a part, or a list of either. Thoughts are no text."""
    if isinstance(parts, str):
        return parts
    if isinstance(parts, dict):
        text = parts.get("text")
        return text if isinstance(text, str) and not parts.get("thought") else ""
    return "".join(map(_text_of, parts)) if isinstance(parts, list) else ""


def _project_of(path: Path, facts: dict[str, Any]) -> str | None:
    """The folder of the project, which newer versions write down; else the key of its workspace, which is the beginning
    of the digest that older versions name its folder by."""
    chats = next((each for each in path.parents if each.name == "chats"), path.parent)
    try:
        return (chats.parent / ".project_root").read_text("utf-8")[:4096].strip()
    except (OSError, ValueError):
        pass
    registry = load_json_or_none(chats.parents[2] / "projects.json")
    projects = registry.get("projects") if isinstance(registry, dict) else None
    if isinstance(projects, dict):
        for folder, name in projects.items():
            if name == chats.parent.name:
                return str(folder)
    digest = facts.get("projectHash")
    return digest[:_KEY_DIGITS] if isinstance(digest, str) and len(digest) == 64 else None


READER = TranscriptReader(_NAME, "Gemini CLI", _find, _read)
