"""nano-brain's tools: the nine of its first version (2026.1.0), which answer in Markdown, and two of the newest that
have a counterpart here. Arguments may have the names of either."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import Field

from server.toolsets.memories import WHOLE
from server.toolsets.old_tool import OldAnswer, OldToolRefusal, OurTools, Toolset, old_tool
from vaults.files.paths import is_note

Project = Annotated[str | None, Field(description='hash or name; "all": everywhere')]
Json = dict[str, Any]
Mode = Literal["hybrid", "keyword", "semantic"]

_MOST_HITS = 500
_LEAST_BYTES, _MOST_BYTES = 100, 1_000_000
_AT_ONCE = 50


def _say(text: str) -> OldAnswer:
    return OldAnswer({"text": text}, text)


def _hit(number: int, hit: Mapping[str, Any]) -> str:
    place = hit["id"] if is_note(hit["id"]) else f"{hit['kind']}/{hit['id']}"
    section = f" | **Section:** {hit['section']}" if hit.get("section") else ""
    return (
        f"### {number}. {hit['title']} (#{hit['id']})\n**Path:** {place} | **Score:** {hit['score']:.3f}{section}"
        f"\n\n{hit['text']}\n"
    )


async def _search(ask: OurTools, mode: Mode, query: str, limit: float, more: Mapping[str, Any]) -> OldAnswer:
    if not query.strip():
        return _say("No results found.")
    most = min(max(int(limit), 1), _MOST_HITS)
    found = await ask("search", query=query, mode=mode, limit=most, max_tokens=WHOLE, **more)
    hits = [_hit(number, each) for number, each in enumerate(found["hits"], 1)]
    warnings = [f"⚠️  {each}" for each in found["warnings"]]
    return _say("\n\n".join([*warnings, "\n---\n\n".join(hits) or "No results found."]))


@old_tool(calls="search", hidden=("max_results",))
async def memory_search(
    ask: OurTools,
    *,
    query: str,
    limit: float = 10,
    collection: str | None = None,
    workspace: Project = None,
    max_results: float | None = None,
) -> OldAnswer:
    """Find by words."""
    return await _search(ask, "keyword", query, max_results or limit, _where(collection, workspace))


@old_tool(calls="search", hidden=("max_results",))
async def memory_vsearch(
    ask: OurTools,
    *,
    query: str,
    limit: float = 10,
    collection: str | None = None,
    workspace: Project = None,
    max_results: float | None = None,
) -> OldAnswer:
    """Find by meaning."""
    return await _search(ask, "semantic", query, max_results or limit, _where(collection, workspace))


@old_tool(calls="search", hidden=("max_results", "hypothetical"))
async def memory_query(
    ask: OurTools,
    *,
    query: str,
    limit: float = 10,
    collection: str | None = None,
    minScore: float = 0,
    workspace: Project = None,
    max_results: float | None = None,
    hypothetical: str | None = None,
) -> OldAnswer:
    """Find by words and meaning: the best of the three."""
    more = _where(collection, workspace) | {"min_score": min(max(minScore, 0.0), 1.0)}
    asked = f"{query}\n{hypothetical}" if hypothetical else query
    return await _search(ask, "hybrid", asked, max_results or limit, more)


def _where(collection: str | None, workspace: str | None) -> Json:
    return {"collection": collection or None, "workspace": workspace or None}


def to_ref(name: str) -> str:
    """An id as a search names it, or a path."""
    return name.strip().removeprefix("#").removeprefix("memory/")


@old_tool(calls="fetch", hidden=("path", "start_line", "end_line"))
async def memory_get(
    ask: OurTools,
    *,
    id: Annotated[str, Field(description="path, or #id")] = "",
    fromLine: Annotated[int | None, Field(ge=1)] = None,
    maxLines: Annotated[int | None, Field(ge=1)] = None,
    path: str = "",
    start_line: int | None = None,
    end_line: int | None = None,
) -> OldAnswer:
    """Read a document, or some lines of it."""
    name, first = id or path, fromLine or start_line or 1
    lines = maxLines or (max(1, end_line - first + 1) if end_line else None)
    missing = OldToolRefusal(f"Document not found: {name}", "not_found")
    if not to_ref(name):
        raise missing
    try:
        found = await ask("fetch", id=to_ref(name), from_line=first, max_lines=lines, max_bytes=_MOST_BYTES)
    except OldToolRefusal as refusal:
        raise missing if refusal.code == "not_found" else refusal from None
    if found.get("text") is None and not found.get("items"):
        raise missing
    items: Sequence[Mapping[str, Any]] = found.get("items") or [found]
    return _say("\n\n".join(each["text"] for each in items))


@old_tool(calls="fetch")
async def memory_multi_get(
    ask: OurTools,
    *,
    pattern: Annotated[str, Field(description="glob, or paths and ids with commas between")],
    maxBytes: float = 50_000,
) -> OldAnswer:
    """Read several documents."""
    names = list(dict.fromkeys(ref for each in pattern.split(",") if (ref := to_ref(each))))
    if not names:
        raise OldToolRefusal("Document not found: ", "not_found")
    room = min(max(int(maxBytes), _LEAST_BYTES), _MOST_BYTES)
    found = await ask("fetch", refs=names[:_AT_ONCE], max_bytes=room)
    texts = [f"### {each['title']} ({each['id']})\n\n{each['text']}\n\n---\n\n" for each in found.get("items") or ()]
    missing = [f"### Document not found: {each}\n" for each in found["missing"]]
    cut = found["truncated"] or len(names) > _AT_ONCE
    more = [f"\n⚠️  Reached maxBytes limit ({int(maxBytes)}), truncating results.\n"] if cut else []
    return _say("".join([*texts, *missing, *more]))


@old_tool(calls="note_edit", hidden=("title", "tags", "supersedes"))
async def memory_write(
    ask: OurTools,
    *,
    content: str,
    target: Annotated[str, Field(description="daily, or memory for MEMORY.md")] = "daily",
    title: str | None = None,
    tags: list[str] | None = None,
    supersedes: str | None = None,
) -> OldAnswer:
    """Add to the log of the day or to MEMORY.md."""
    if supersedes:
        stored = await ask("memory_supersede", id=to_ref(supersedes), content=content, title=title)
        return _say(f"✅ Written to memory/{stored['id']}")
    if title or tags:
        stored = await ask("remember", content=content, title=title, tags=tags)
        return _say(f"✅ Written to memory/{stored['id']}")
    if target not in ("daily", "memory"):
        raise OldToolRefusal(f'Invalid target: {target}. Use "daily" or "memory".')
    changed = await ask("note_edit", path=f"@{target}", content=content)
    return _say(f"✅ Written to {changed['path']}")


@old_tool(calls="memory_forget")
async def memory_delete(ask: OurTools, *, path: Annotated[str, Field(description="#id")]) -> OldAnswer:
    """Take a memory out of every search; an admin can delete it for good."""
    try:
        await ask("memory_forget", ids=[to_ref(path)[:64] or "-"])
    except OldToolRefusal as refusal:
        missing = OldToolRefusal(f"Document not found: {path}", "not_found")
        raise missing if refusal.code == "not_found" else refusal from None
    return _say(f"✅ Deleted {path}")


@old_tool(calls="context")
async def memory_wake_up(ask: OurTools, *, limit: float = 10, workspace: Project = None) -> OldAnswer:
    """Where things stand: call it when you begin."""
    budget = min(max(int(limit), 1), 50) * 150
    return _say((await ask("context", format="prompt", workspace=workspace, budget_tokens=max(budget, 500)))["prompt"])


@old_tool(calls="status")
async def memory_status(
    ask: OurTools,
    *,
    root: str | None = None,  # noqa: ARG001  all collections are counted
) -> OldAnswer:
    """What is indexed, and how it goes."""
    now = await ask("status")
    notes, kept, model, index = now["notes"], now["memories"], now["embedding"], now["index"]
    files = now["documents"]["documents"] + now["documents"]["code"]
    lines = [
        "📊 **Memory Index Status**",
        f"Documents: {notes['notes'] + kept['living'] + files} | Chunks: {index['passages']}"
        f" | Pending embeddings: {model['pending']}",
        f"Database size: {now['storage_bytes'] / 2**20:.1f} MB",
        "",
        "**Collections:**",
        f"  - notes: {notes['notes']} docs",
        f"  - memory: {kept['living']} docs",
        *(f"  - {each['name']}: {each['documents']} docs{_tell_state(each)}" for each in now["collections"]),
        "",
        "**Models:**",
        f"  - Embedding: {model.get('model') or 'none'} ({model['status']})",
    ]
    return _say("\n".join(lines))


def _tell_state(collection: Mapping[str, Any]) -> str:
    return "" if collection["state"] == "ready" else f" ({collection['state']})"


@old_tool(calls="collections add")
async def memory_index_codebase(
    ask: OurTools, *, root: Annotated[str | None, Field(description="folder of the project")] = None
) -> OldAnswer:
    """Index the code of a project."""
    known = [each for each in (await ask("collections"))["collections"] if each["kind"] == "code"]
    same = [each for each in known if root is None or each["root"] == root.rstrip("/")]
    try:
        if same:
            named = {"name": same[0]["name"]} if len(same) == 1 else {}
            done = await ask("collections", action="refresh", **named)
        elif root is None:
            raise OldToolRefusal("Name the folder: root.")
        else:
            done = await ask("collections", action="add", kind="code", root=root, name=_name_codebase(root))
    except OldToolRefusal as refusal:
        raise OldToolRefusal(f"❌ Codebase indexing is not enabled. {refusal.message}", refusal.code) from None
    found = [each for each in done["collections"] if each["kind"] == "code"]
    late = "\nIt goes on in the background." if done["pending"] else ""
    left_out = sum(count for each in found for count in each["left_out"].values())
    return _say(
        f"✅ Codebase indexed\n- Files scanned: {sum(each['files'] for each in found) + left_out}"
        f"\n- Files indexed: {sum(each['documents'] for each in found)}"
        f"\n- Files left out: {left_out + sum(each['problems'] for each in found)}{late}"
    )


def _name_codebase(root: str) -> str:
    """What a folder is called as a collection: its own name, as far as one may have it."""
    last = root.rstrip("/").rpartition("/")[2]
    return re.sub(r"[^\w .-]|^[\W_]+|[\W_]+$", "", last)[:64] or "codebase"


@old_tool(calls="status")
async def memory_update(ask: OurTools) -> OldAnswer:
    """Look at all files again, and say whether the index is up to date."""
    with suppress(OldToolRefusal):  # who may only read is told how it stands
        await ask("collections", action="refresh")
    now = await ask("status")
    pending = now["embedding"]["pending"]
    late = f", {pending} embeddings to come" if pending else ""
    files = "".join(f", {each['name']}: {each['documents']} docs{_tell_state(each)}" for each in now["collections"])
    return _say(
        f"✅ Index is up to date: files are indexed as they change ({now['notes']['notes']} notes{files}{late})"
    )


def _to_error(refusal: OldToolRefusal) -> OldAnswer:
    return OldAnswer({"text": refusal.message}, refusal.message, is_error=True)


TOOLSET = Toolset(
    name="nano-brain",
    system="nano-brain",
    published_tokens=1_068,
    instructions="Memory of sessions, notes and decisions. memory_wake_up when you begin; memory_query before you"
    " decide; memory_write what matters later.",
    tools=(
        memory_search, memory_vsearch, memory_query, memory_get, memory_multi_get, memory_write, memory_status,
        memory_index_codebase, memory_update, memory_wake_up, memory_delete,
    ),
    to_error=_to_error,
)  # fmt: skip
