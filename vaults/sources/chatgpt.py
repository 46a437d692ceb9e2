"""ChatGPT: the export of an account, as the zip that OpenAI sends or unpacked. As of exports of 2023 to mid 2026.

OpenAI publishes no schema. Conversations stand in ``conversations.json``, in large exports since 2026 in
``conversations-000.json`` and so on. Each is a tree: every edit and every new answer makes a branch, and
``current_node`` is the end of the one that was shown last.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vaults.errors import InvalidArgument
from vaults.sources.archive_member import ArchiveMember
from vaults.sources.archives import Archive, has_members, open_archive
from vaults.sources.chatgpt_messages import Instructions, to_message_part
from vaults.sources.json_stream import stream_members
from vaults.sources.record_fields import to_label, to_memories
from vaults.sources.record_ids import digest, to_external_id
from vaults.sources.source import SearchPlaces, Source, SourceItem, SourceReading, SourceRecord, UnreadableRecord
from vaults.sources.transcripts import to_document, to_part

SYSTEM = "chatgpt"
CONVERSATIONS = re.compile(r"(?:^|/)conversations(?:[-_ (]*\d+\)?)?\.json$")

_CANVAS = re.compile(r"(?:^|/)textdocs/[^/]+\.json$")
_OTHERS = (
    (re.compile(r"(?:^|/)chat\.html$"), "pages that show the same conversations"),
    (re.compile(r"(?:^|/)message_feedback\.json$"), "ratings of answers"),
    (re.compile(r"(?:^|/)shared_conversations\.json$"), "lists of shared links"),
    (re.compile(r"(?:^|/)(?:user|user_settings|export_manifest)\.json$"), "account data"),
    (re.compile(r"(?:^|/)[a-z_]+\.json$"), "other lists"),
)
_KEPT = ("default_model_slug", "gizmo_id", "is_archived", "is_starred", "is_do_not_remember", "conversation_origin")


@dataclass(slots=True)
class _ChatGPTExport:
    """Files of an export that are read, and what was met in them so far."""

    conversations: list[ArchiveMember] = field(default_factory=list)
    canvases: list[ArchiveMember] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    instructions: set[str] = field(default_factory=set)


def _find(places: SearchPlaces) -> Iterable[Path]:
    zips = sorted((places.home / "Downloads").glob("*.zip"))
    return [path for path in zips if has_members(path, CONVERSATIONS.pattern, r"(?:^|/)chat\.html$")]


@contextmanager
def _open(path: Path) -> Iterator[SourceReading]:
    with open_archive(path) as archive:
        export = _sort(archive)
        if not export.conversations:
            raise InvalidArgument("PATH", f"{path} holds no conversations.json")
        _check_system(export.conversations[0])
        members = [*export.conversations, *export.canvases]
        yield SourceReading(sum(member.size for member in members), _read(export), export.left)


def _sort(archive: Archive) -> _ChatGPTExport:
    export = _ChatGPTExport()
    for member in archive.walk():
        if CONVERSATIONS.search(member.path):
            export.conversations.append(member)
        elif _CANVAS.search(member.path):
            export.canvases.append(member)
        else:
            export.left[next((kind for known, kind in _OTHERS if known.search(member.path)), "attached files")] += 1
    return export


def _check_system(member: ArchiveMember) -> None:
    """Raises ``InvalidArgument`` for the export of another system: Claude's has a file of the same name."""
    first = next((entry.value for _, entry, _ in stream_members([member])), None)
    if isinstance(first, dict) and "chat_messages" in first:
        raise InvalidArgument("PATH", "is an export of Claude", hint="import it as claude")


def _read(export: _ChatGPTExport) -> Iterator[SourceItem]:
    for member, entry, done in stream_members(export.conversations):
        place = f"{member.name}, conversation {entry.number}"
        if entry.problem or not isinstance(entry.value, dict):
            yield UnreadableRecord(place, entry.problem or "is no conversation", done)
            continue
        try:
            lines = list(_to_lines(entry.value, export))
        except _NoConversation as failure:
            yield UnreadableRecord(place, str(failure), done, to_label(entry.value.get("title")))
        else:
            yield from (SourceRecord(place, line, done) for line in lines)
    yield from _read_canvases(export, sum(member.size for member in export.conversations))


class _NoConversation(ValueError):
    """Something that should be a conversation."""


def _to_lines(conversation: dict[str, Any], export: _ChatGPTExport) -> Iterator[dict[str, Any]]:
    own = to_label(conversation.get("conversation_id") or conversation.get("id"))
    mapping = conversation.get("mapping")
    if own is None or not isinstance(mapping, dict):
        raise _NoConversation("has no id" if own is None else "has no messages")
    parts = []
    for message in _follow_branch(mapping, conversation.get("current_node"), export.left):
        part = to_message_part(message, export.left)
        if isinstance(part, Instructions):
            yield from _to_preference(part, export)
        else:
            parts.append(part)
    document = to_document(
        parts,
        external_id=to_external_id(SYSTEM, "conversation", own),
        format="transcript",
        title=conversation.get("title"),
        uri=f"https://chatgpt.com/c/{own}",
        created_at=conversation.get("create_time"),
        modified_at=conversation.get("update_time"),
        metadata={name: conversation[name] for name in _KEPT if conversation.get(name)},
    )
    if document is None:
        export.left["empty conversations"] += 1
    else:
        yield document


def _follow_branch(mapping: dict[str, Any], current: Any, left: Counter[str]) -> list[dict[str, Any]]:
    """The messages from the first to the current one; those of other branches are counted."""
    nodes = {name: node for name, node in mapping.items() if isinstance(node, dict)}
    at = current if isinstance(current, str) and current in nodes else _find_newest(nodes)
    branch: dict[str, dict[str, Any]] = {}
    while isinstance(at, str) and at in nodes and at not in branch:  # a damaged tree may lead back to itself
        branch[at] = nodes[at]
        at = nodes[at].get("parent")
    if others := sum(1 for name, node in nodes.items() if name not in branch and isinstance(node.get("message"), dict)):
        left["messages of other branches"] += others
    return [node["message"] for node in reversed(branch.values()) if isinstance(node.get("message"), dict)]


def _find_newest(nodes: dict[str, dict[str, Any]]) -> str | None:
    """The newest message, as the end of a conversation that does not say where it ends."""

    def age(name: str) -> float:
        message = nodes[name].get("message")
        time = message.get("create_time") if isinstance(message, dict) else None
        return time if isinstance(time, int | float) else 0.0

    return max(nodes, key=age, default=None)


def _to_preference(instructions: Instructions, export: _ChatGPTExport) -> Iterator[dict[str, Any]]:
    """Custom instructions stand in every conversation they were used in; each version is carried once."""
    own = digest(instructions.text)
    if own not in export.instructions:
        export.instructions.add(own)
        fields = {
            "external_id": to_external_id(SYSTEM, "instructions", own),
            "title": "Custom instructions for ChatGPT",
            "content": instructions.text,
            "type": "preference",
            "created_at": instructions.at,
        }
        yield from to_memories(fields)


def _read_canvases(export: _ChatGPTExport, done: int) -> Iterator[SourceItem]:
    """Canvas documents, a file each."""
    for member in export.canvases:
        values = {entry.key: entry.value for _, entry, _ in stream_members([member]) if not entry.problem}
        done += member.size
        own = to_label(values.get("id") or member.name.removesuffix(".json"))
        document = to_document(
            [to_part(values.get("content"))],
            external_id=to_external_id(SYSTEM, "canvas", own or member.path),
            format="text" if values.get("type") == "text/plain" else "markdown",
            title=values.get("title"),
            created_at=values.get("created_at"),
        )
        if document is None:
            yield UnreadableRecord(member.path, "is no canvas document", done)
        else:
            yield SourceRecord(member.path, document, done)


SOURCE = Source(SYSTEM, "ChatGPT", "the zip of an account's export, its folder, or conversations.json", _find, _open)
