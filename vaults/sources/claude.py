"""Claude: the export of an account, one zip or several, or unpacked. As of exports of 2024 to September 2026.

Anthropic publishes no schema. Older exports are one zip with ``conversations.json``, ``projects.json`` and
``users.json``; since 2026 a project is a file of its own, and there may be a zip for each of conversations, projects,
memories, design chats and account data. A conversation does not say which project it belongs to.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from vaults.errors import InvalidArgument
from vaults.sources.archive_member import ArchiveMember
from vaults.sources.archives import Archive, has_members, open_archive
from vaults.sources.claude_messages import follow_branch, to_design_parts, to_message_parts
from vaults.sources.json_stream import stream_members, stream_objects
from vaults.sources.record_fields import cut_text, to_label, to_memories
from vaults.sources.record_ids import digest, to_external_id
from vaults.sources.source import SearchPlaces, Source, SourceItem, SourceReading, SourceRecord, UnreadableRecord
from vaults.sources.transcripts import find_format, to_document, to_part

SYSTEM = "claude"

_ZIPS = re.compile(r"^(?:data-.*|(?:conversations|projects|memories|design_chats|light_metadata)[-_\d]*)\.zip$")
_USERS = re.compile(r"(?:^|/)users\.json$")
# In the order they are read: projects and people are named by what follows.
_FILES = {
    "project": re.compile(r"(?:^|/)projects(?:\.json|/[^/]+\.json)$"),
    "memories": re.compile(r"(?:^|/)memories(?:\.json|/[^/]+\.json)$"),
    "conversation": re.compile(r"(?:^|/)conversations[-_ (]*\d*\)?\.json$"),
    "design chat": re.compile(r"(?:^|/)design_chats/[^/]+\.json$"),
}
_ACCOUNT = re.compile(r"(?:^|/)(?:login_history|manifest[^/]*)\.json$")

_Lines: TypeAlias = Iterator[dict[str, Any]]


@dataclass(slots=True)
class _ClaudeExport:
    """Files of an export by what is in them, and what was met in them so far."""

    files: dict[str, list[ArchiveMember]] = field(default_factory=lambda: {kind: [] for kind in _FILES})
    users: list[ArchiveMember] = field(default_factory=list)
    people: dict[str, str] = field(default_factory=dict)
    projects: dict[str, str] = field(default_factory=dict)
    left: Counter[str] = field(default_factory=Counter)


def _find(places: SearchPlaces) -> Iterable[Path]:
    zips = sorted((places.home / "Downloads").glob("*.zip"))
    return [path for path in zips if has_members(path, _USERS.pattern, _FILES["conversation"].pattern)]


@contextmanager
def _open(path: Path) -> Iterator[SourceReading]:
    with open_archive(path, zips=_ZIPS) as archive:
        export = _sort(archive)
        members = [member for kind in export.files.values() for member in kind]
        if not members:
            raise InvalidArgument("PATH", f"{path} holds no conversations.json")
        _check_system(export.files["conversation"])
        yield SourceReading(sum(member.size for member in members), _read(export), export.left)


def _sort(archive: Archive) -> _ClaudeExport:
    export = _ClaudeExport()
    for member in archive.walk():
        kind = next((kind for kind, pattern in _FILES.items() if pattern.search(member.path)), None)
        if kind:
            export.files[kind].append(member)
        elif _USERS.search(member.path):
            export.users.append(member)
        else:
            export.left["account data" if _ACCOUNT.search(member.path) else "other files"] += 1
    return export


def _check_system(members: list[ArchiveMember]) -> None:
    """Raises ``InvalidArgument`` for the export of another system: ChatGPT's has a file of the same name."""
    first = next((entry.value for _, entry, _ in stream_members(members)), None)
    if isinstance(first, dict) and "mapping" in first:
        raise InvalidArgument("PATH", "is an export of ChatGPT", hint="import it as chatgpt")


def _read(export: _ClaudeExport) -> Iterator[SourceItem]:
    for _, entry, _ in stream_members(export.users):
        if isinstance(entry.value, dict) and (name := to_label(entry.value.get("full_name"))):
            export.people[str(entry.value.get("uuid"))] = name
    before = 0
    for kind, members in export.files.items():
        for member, entry, done in stream_objects(members):
            place = f"{member.path}, {kind} {entry.number}"
            value = entry.value if isinstance(entry.value, dict) else {}
            own = _find_id(kind, value)
            if entry.problem or own is None:
                yield UnreadableRecord(place, entry.problem or f"is no {kind}", before + done)
                continue
            for line in _READERS[kind](own, value, export):
                yield SourceRecord(place, line, before + done)
        before += sum(member.size for member in members)


def _find_id(kind: str, value: dict[str, Any]) -> str | None:
    unnamed = "account" if kind == "memories" and value else None
    return to_label(value.get("uuid") or value.get("account_uuid") or unnamed)


def _read_project(own: str, project: dict[str, Any], export: _ClaudeExport) -> _Lines:
    """A project's instructions and each of its files as a document. Its conversations do not name it."""
    name = to_label(project.get("name"))
    export.projects[own] = name or own
    common = {"collection": name, "modified_at": project.get("updated_at")}
    docs = project.get("docs")
    for doc in (each for each in docs if isinstance(each, dict)) if isinstance(docs, list) else ():
        file = str(doc.get("filename") or "document")
        document = to_document(
            [to_part(doc.get("content"))],
            external_id=to_external_id(SYSTEM, "doc", to_label(doc.get("uuid")) or digest(own, file)),
            format=find_format(file),
            title=file,
            created_at=doc.get("created_at") or project.get("created_at"),
            **common,
        )
        if document is None:
            export.left["project files without text"] += 1
        else:
            yield document
    said = [to_part(project.get("description")), to_part(project.get("prompt_template"), heading="Instructions")]
    document = to_document(
        said,
        external_id=to_external_id(SYSTEM, "project", own),
        format="markdown",
        title=f"{name or 'Project'}: instructions",
        created_at=project.get("created_at"),
        **common,
    )
    yield from [document] if document else []


def _read_memories(own: str, memories: dict[str, Any], export: _ClaudeExport) -> _Lines:
    """What Claude remembers of the user, of each project, and in files."""
    yield from _to_memory(own, "What Claude remembers", memories.get("conversations_memory"))
    projects = memories.get("project_memories")
    for project, text in projects.items() if isinstance(projects, dict) else ():
        name = export.projects.get(project)
        title = f"What Claude remembers of {name}" if name else "What Claude remembers of a project"
        yield from _to_memory(project, title, text, {"project": name or project})
    files = memories.get("memory_files")
    for each in files if isinstance(files, list) else ():
        if isinstance(each, dict):
            path = str(each.get("path"))
            yield from _to_memory(f"{own}:{path}", path, each.get("content"), {"path": path})


def _to_memory(own: str, title: str, text: Any, metadata: dict[str, Any] | None = None) -> _Lines:
    if isinstance(text, str) and text.strip():
        external_id = to_external_id(SYSTEM, "memory", own)
        fields = {"external_id": external_id, "content": text.strip(), "title": title, "type": "summary"}
        yield from to_memories(fields | {"metadata": metadata})


def _read_conversation(own: str, conversation: dict[str, Any], export: _ClaudeExport) -> _Lines:
    account = conversation.get("account")
    person = export.people.get(str(account.get("uuid"))) if isinstance(account, dict) else None
    messages = follow_branch(conversation, export.left)
    parts = [part for message in messages for part in to_message_parts(message, person, export.left)]
    yield from _to_transcript("conversation", own, conversation, parts, export, uri=f"https://claude.ai/chat/{own}")


def _read_design_chat(own: str, chat: dict[str, Any], export: _ClaudeExport) -> _Lines:
    messages = chat.get("messages")
    listed = [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else []
    parts = [part for message in listed for part in to_design_parts(message, export.left)]
    project = chat.get("project")
    collection = to_label(project.get("name")) if isinstance(project, dict) else None
    yield from _to_transcript("design", own, chat, parts, export, collection=collection)


def _to_transcript(
    kind: str, own: str, source: dict[str, Any], parts: list[dict[str, Any]], export: _ClaudeExport, **more: Any
) -> _Lines:
    document = to_document(
        parts,
        external_id=to_external_id(SYSTEM, kind, own),
        format="transcript",
        title=source.get("name") or source.get("title"),
        created_at=source.get("created_at"),
        modified_at=source.get("updated_at"),
        metadata={"summary": cut_text(source.get("summary"), 4000), "model": source.get("model")},
        **more,
    )
    if document is None:
        export.left["empty conversations"] += 1
    else:
        yield document


_READERS: dict[str, Callable[[str, dict[str, Any], _ClaudeExport], _Lines]] = {
    "project": _read_project,
    "memories": _read_memories,
    "conversation": _read_conversation,
    "design chat": _read_design_chat,
}

SOURCE = Source(SYSTEM, "Claude", "the zip of an account's export, or the folder of several", _find, _open)
