"""Resources of a vault: ``memory://{id}``, ``document://{id}``, ``note://{path}``, ``vault://status``, the latest
session and handoff, and pictures of the graph: ``vault://graph`` and ``note://{path}/graph``. Knows no protocol.

Every read is a tool call through dispatch, so authorisation, quota, deadline and log are those of any call. A URI
names no vault: it is read in the caller's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote

from server.call import Caller
from server.dispatch import dispatch
from server.internal_calls import InternalCallRefused, call_internally
from server.services import Services
from vaults.domain.documents import SCHEMES
from vaults.domain.graph.svg import RESOURCE as GRAPH
from vaults.errors import InvalidArgument, NotFound, TooLarge
from vaults.files.paths import NOTE_SCHEME, collision_key, is_note, to_address, to_note_path

STATUS = "vault://status"
SESSION = "session://latest"
HANDOFF = "handoff://latest"
FIXED_RESOURCES = {
    STATUS: "How this vault is, as JSON",
    GRAPH: "The most central notes of this vault and how they are linked, as a picture",
    SESSION: "What the last session before yours did, as JSON",
    HANDOFF: "The newest open handoff you may take, as JSON",
}
"""Resources without an argument; the session and the handoff may be absent."""

CHANGED_BY = {"session_save": SESSION, "handoff_create": HANDOFF, "handoff_load": HANDOFF}
"""Tools, and the fixed resource each may change. The status changes with every write."""

MARKDOWN, JSON, SVG = "text/markdown", "application/json", "image/svg+xml"
COMPLETIONS = 100
SUBSCRIPTIONS = 50
"""URIs a caller may subscribe to at once."""

_PAGE_SIZE, _PAGE_TOKENS = 50, 20_000
_COMPLETION_LIMIT, _COMPLETION_TOKENS = 200, 100_000
_NOTE_BYTES = 1_000_000

_MEMORY = re.compile(r"memory://([0-9A-Za-z-]{1,64})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ResourceFamily:
    """A family of resources, and the one argument that names a member."""

    name: str
    uri: str
    argument: str
    description: str
    mime_type: str = MARKDOWN


MEMORIES = ResourceFamily("memory", "memory://{id}", "id", "A memory as Markdown, by id")
NOTES = ResourceFamily("note", "note://{path}", "path", "A note, by its path in the vault")
PICTURES = ResourceFamily(
    "note graph", "note://{path}/graph", "path", "A note and the notes linked around it, as a picture", SVG
)
DOCUMENTS = ResourceFamily("document", "document://{id}", "id", "A document or transcript as text, by id", "text/plain")
TEMPLATES = (MEMORIES, NOTES, DOCUMENTS, PICTURES)


@dataclass(frozen=True, slots=True)
class ResourceEntry:
    """One line of the list."""

    uri: str
    name: str
    description: str
    mime_type: str
    size: int | None = None  # bytes, where known
    modified: str | None = None  # RFC 3339


@dataclass(frozen=True, slots=True)
class ResourceBody:
    """The content of one resource."""

    uri: str
    mime_type: str
    text: str
    about: dict[str, Any]  # what is known besides the text, under the name of its kind


def memory_uri(memory_id: str) -> str:
    """The URI of a memory."""
    return f"memory://{memory_id}"


def pictured_note(uri: str) -> str | None:
    """The address of the note a picture is drawn around; None for any other URI. Only a path with its suffix makes
    one: ``note://plan/graph`` is the note plan/graph.md."""
    drawn = uri.partition("?")[0]
    note = drawn.removesuffix("/graph")
    return note if note != drawn and note.startswith(NOTE_SCHEME) and is_note(unquote(note)) else None


def is_picture(uri: str) -> bool:
    """Whether this is a picture of the graph, which any changed note may change."""
    return uri.partition("?")[0] == GRAPH or pictured_note(uri) is not None


def note_key(uri: str) -> str | None:
    """Equal for all URIs of one note, however they encode its path; None if ``uri`` is not a note's."""
    if not uri.startswith(NOTE_SCHEME):
        return None
    try:
        return collision_key(to_note_path(unquote(uri.removeprefix(NOTE_SCHEME), errors="strict")))
    except (InvalidArgument, UnicodeDecodeError):
        return None


async def list_resources(
    services: Services, caller: Caller, cursor: str | None
) -> tuple[list[ResourceEntry], str | None]:
    """A page of resources and the cursor of the next: memories, newest first, then notes, last changed first. Raises
    ``InternalCallRefused``."""
    part, rest = (cursor[:1], cursor[1:]) if cursor is not None else ("m", "")
    if part not in ("m", "n") or (cursor is not None and part == "m" and not rest):
        raise InvalidArgument("cursor", "is not one this listing gave")
    entries = [] if cursor is not None else [_fixed_entry(uri) for uri in FIXED_RESOURCES]
    room = _PAGE_SIZE
    if part == "m":
        arguments = {"limit": _PAGE_SIZE, "max_tokens": _PAGE_TOKENS} | ({"cursor": rest} if rest else {})
        page = await _call_tool(services, caller, "memory_list", arguments)
        entries += [_entry(memory) for memory in page["memories"]]
        room -= len(page["memories"])
        if page.get("cursor") or not room:
            return entries, f"m{page['cursor']}" if page.get("cursor") else "n"
        rest = ""
    newest = {"sort_by": "modified", "order": "desc", "limit": room, "max_tokens": _PAGE_TOKENS}
    page = await _call_tool(services, caller, "find_notes", newest | ({"cursor": rest} if rest else {}))
    entries += [_note_entry(note) for note in page["notes"]]
    return entries, f"n{page['cursor']}" if page.get("cursor") else None


async def read_resource(services: Services, caller: Caller, uri: str) -> ResourceBody:
    """One resource. Raises ``NotFound``, alike for an absent one and one the caller may not read, ``TooLarge``, or
    ``InternalCallRefused``."""
    if is_picture(uri):
        return await _picture(services, caller, uri)
    if uri in FIXED_RESOURCES:
        found = await _READERS[uri](services, caller)
        return ResourceBody(uri, JSON, json.dumps(found, ensure_ascii=False, indent=2), {})
    if uri.startswith(NOTE_SCHEME):
        return await _note(services, caller, uri)
    if uri.startswith(SCHEMES):
        return await _text_of_document(services, caller, uri)
    memory_id = _memory_id(uri)
    found = await _call_tool(services, caller, "memory_get", {"ids": [memory_id]})
    if not found["memories"]:
        raise _not_found()
    memory = found["memories"][0]
    about = {name: value for name, value in memory.items() if name != "content"} | {"links": found["links"]}
    return ResourceBody(uri, MARKDOWN, _document(memory), {"memory": about})


async def _status(services: Services, caller: Caller) -> dict[str, Any]:
    return await _call_tool(services, caller, "status", {})


async def _last_session(services: Services, caller: Caller) -> dict[str, Any]:
    found = await _call_tool(services, caller, "session_resume", {"limit": 2, "max_tokens": _PAGE_TOKENS})
    before = [each for each in found["sessions"] if each["id"] != found["session"]["id"]]
    if not before:
        raise _not_found()
    return dict(before[0])


async def _last_handoff(services: Services, caller: Caller) -> dict[str, Any]:
    try:
        handoff = (await _call_tool(services, caller, "handoff_load", {})).get("handoff")
    except InternalCallRefused as refused:
        if refused.outcome.code == NotFound.code:
            raise _not_found() from None
        raise
    if not handoff:
        raise _not_found()
    return dict(handoff)


_READERS = {STATUS: _status, SESSION: _last_session, HANDOFF: _last_handoff}


async def _note(services: Services, caller: Caller, uri: str) -> ResourceBody:
    wanted = note_key(uri)
    if wanted is None:
        raise _not_found()
    found = await _fetch_all(services, caller, [uri], max_bytes=_NOTE_BYTES)
    # A note of the same name elsewhere may answer a question, but is not the resource that was named.
    if not found["items"] or collision_key(found["items"][0]["id"]) != wanted:
        raise _not_found()
    note = found["items"][0]
    if note["truncated"]:
        raise TooLarge("the note is too long for a resource", hint="note_read and fetch read it in parts")
    about = {"path": note["id"], "title": note["title"], "etag": note["etag"], **note["metadata"]}
    return ResourceBody(uri, MARKDOWN, note["text"], {"note": about})


async def _text_of_document(services: Services, caller: Caller, uri: str) -> ResourceBody:
    found = await _fetch_all(services, caller, [uri], max_bytes=_NOTE_BYTES)
    if not found["items"]:
        raise _not_found()
    document = found["items"][0]
    if document["truncated"]:
        raise TooLarge("the document is too long for a resource", hint="fetch reads it in parts")
    about = {"id": document["id"], "title": document["title"], "etag": document["etag"], **document["metadata"]}
    return ResourceBody(uri, DOCUMENTS.mime_type, document["text"], {"document": about})


async def _picture(services: Services, caller: Caller, uri: str) -> ResourceBody:
    wanted: dict[str, Any] = {"action": "export", "format": "svg", **_picture_arguments(uri)}
    if note := pictured_note(uri):
        found = await _fetch_all(services, caller, [note], max_lines=1, max_bytes=_NOTE_BYTES)
        if not found["items"] or collision_key(found["items"][0]["id"]) != note_key(note):
            raise _not_found()
        wanted["path"] = found["items"][0]["id"]
    drawn = await _call_tool(services, caller, "graph", wanted)
    return ResourceBody(uri, SVG, drawn["export"], {})


def _picture_arguments(uri: str) -> dict[str, Any]:
    """The folder and depth that a picture's address names. Raises ``NotFound`` for anything else."""
    asked = parse_qs(uri.partition("?")[2], keep_blank_values=True, max_num_fields=2)
    arguments: dict[str, Any] = {name: values[0] for name, values in asked.items() if len(values) == 1}
    if not arguments.keys() <= {"folder", "depth"} or len(arguments) < len(asked):
        raise _not_found()
    if "depth" in arguments:
        if not re.fullmatch(r"[1-9]", arguments["depth"]):
            raise _not_found()
        arguments["depth"] = int(arguments["depth"])
    return arguments


async def _fetch_all(services: Services, caller: Caller, uris: list[str], **more: int) -> dict[str, Any]:
    return await _call_tool(services, caller, "fetch", {"refs": uris, **more})


async def check_readable(services: Services, caller: Caller, uris: Iterable[str]) -> None:
    """Raise ``NotFound`` unless the caller may read every one of ``uris``; ``InvalidArgument`` for more than 50."""
    asked = [uri for uri in dict.fromkeys(uris) if uri not in FIXED_RESOURCES]
    if len(asked) > SUBSCRIPTIONS:
        raise InvalidArgument("resourceSubscriptions", f"must be at most {SUBSCRIPTIONS} URIs")
    notes = [pictured_note(uri) or uri for uri in asked if uri.startswith(NOTE_SCHEME)]
    documents = [uri for uri in asked if uri.startswith(SCHEMES)]
    if documents and (await _fetch_all(services, caller, documents, max_lines=1, max_bytes=_NOTE_BYTES))["missing"]:
        raise _not_found()
    if ids := [_memory_id(uri) for uri in asked if not uri.startswith((NOTE_SCHEME, *SCHEMES))]:
        found = await _call_tool(services, caller, "memory_get", {"ids": ids})
        if found["missing"]:
            raise _not_found()
    if notes:
        found = await _fetch_all(services, caller, notes, max_lines=1, max_bytes=_NOTE_BYTES)
        if {note_key(uri) for uri in notes} != {collision_key(note["id"]) for note in found["items"]}:
            raise _not_found()


async def complete_argument(services: Services, caller: Caller, template: ResourceFamily, value: str) -> list[str]:
    """Completions of ``value``, the beginning of the template's argument or part of a title."""
    wanted = value.strip()[:200]
    if template is DOCUMENTS:
        return []  # ids say nothing to people; a search gives them
    return await (_memory_ids if template is MEMORIES else _note_paths)(services, caller, wanted)


async def _memory_ids(services: Services, caller: Caller, value: str) -> list[str]:
    """Ids that begin with ``value`` or whose title contains it: among the newest, and among what its words find."""
    wanted = value.casefold()
    listing = {"limit": _COMPLETION_LIMIT, "max_tokens": _COMPLETION_TOKENS}
    seen = list((await _call_tool(services, caller, "memory_list", listing))["memories"])
    if re.search(r"\w", wanted):
        search = {"query": wanted, "mode": "keyword", "limit": COMPLETIONS, "max_tokens": _COMPLETION_TOKENS}
        seen += (await _call_tool(services, caller, "recall", search))["hits"]
    fitting = (each["id"] for each in seen if each["id"].startswith(wanted) or wanted in each["title"].casefold())
    return list(dict.fromkeys(fitting))


async def _note_paths(services: Services, caller: Caller, value: str) -> list[str]:
    """Paths that begin with ``value``, among the notes changed last and those of its folder, then those whose name or
    title contains it."""
    listing = {"limit": _COMPLETION_LIMIT, "max_tokens": _COMPLETION_TOKENS}
    folder, _, name = value.rpartition("/")
    questions: list[dict[str, Any]] = [{"sort_by": "modified", "order": "desc"}]
    questions += [{"folder": folder} | ({"title_contains": name} if name.strip() else {})] if folder else []
    questions += [{"title_contains": value}] if value else []
    seen: list[Mapping[str, Any]] = []
    for question in questions:
        outcome = await dispatch(services, caller, "find_notes", listing | question)
        if outcome.ok:
            seen += outcome.content["notes"]
        elif outcome.code != "invalid_argument":  # a value that names no folder completes nothing
            raise InternalCallRefused(outcome)
    wanted = value.casefold()
    first = [each["path"] for each in seen if each["path"].casefold().startswith(wanted)]
    return list(dict.fromkeys([*first, *(each["path"] for each in seen if _matches_name(each, wanted))]))


def _matches_name(note: Mapping[str, Any], wanted: str) -> bool:
    return wanted in note["title"].casefold() or wanted in note["path"].rpartition("/")[2].casefold()


async def _call_tool(services: Services, caller: Caller, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return (await call_internally(services, caller, tool, arguments)).content


def _memory_id(uri: str) -> str:
    match = _MEMORY.fullmatch(uri)
    if match is None:
        raise _not_found()
    return match[1]


def _not_found() -> NotFound:
    return NotFound("Resource not found")


def _fixed_entry(uri: str) -> ResourceEntry:
    kind, _, name = uri.partition("://")
    return ResourceEntry(uri, name if kind == "vault" else kind, FIXED_RESOURCES[uri], SVG if uri == GRAPH else JSON)


def _entry(memory: Mapping[str, Any]) -> ResourceEntry:
    about = f"{memory['type']} by {memory['author']}"
    size = len(_document(memory).encode())
    return ResourceEntry(
        uri=memory_uri(memory["id"]),
        name=memory["title"],
        description=about,
        mime_type=MARKDOWN,
        size=size,
        modified=memory["updated_at"],
    )


def _note_entry(note: Mapping[str, Any]) -> ResourceEntry:
    return ResourceEntry(
        uri=to_address(note["path"]),
        name=note["title"],
        description=note["path"],
        mime_type=MARKDOWN,
        size=note["size"],
        modified=note["modified_at"],
    )


def _document(memory: Mapping[str, Any]) -> str:
    """Markdown under a header of quoted values: nothing in a title or author can end the header."""
    names = ("id", "type", "title", "author", "created_at", "tags", "superseded_by")
    lines = [f"{name}: {json.dumps(memory[name], ensure_ascii=False)}" for name in names if memory.get(name)]
    return "\n".join(["---", *lines, "---", "", memory["content"]])
