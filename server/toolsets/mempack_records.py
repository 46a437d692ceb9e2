"""What mempack's command line does with single records and no tool of it does: show, forget, supersede, lists."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from server.toolsets.memories import WHOLE, one_memory, read_whole
from server.toolsets.mempack import Json, Project, join_place, require, split_names
from server.toolsets.old_tool import OldAnswer, OldToolRefusal, OurTools, old_tool

Limit = Annotated[int, Field(ge=1, le=200)]
_PAGE = 200
_MOST_PAGES = 50
"""Pages of the newest memories in which projects are looked for."""


def _filled(fields: Mapping[str, Any]) -> Json:
    return {name: value for name, value in fields.items() if value not in (None, "")}


def _detail(memory: Mapping[str, Any]) -> Json:
    return _filled(
        {
            "id": memory["id"],
            "repo_id": memory["workspace"],
            "thread_id": memory.get("thread"),
            "title": memory["title"],
            "summary": memory["content"],
            "tags_json": json.dumps(memory["tags"], ensure_ascii=False) if memory["tags"] else "",
            "entities_json": json.dumps(memory["keywords"], ensure_ascii=False) if memory["keywords"] else "",
            "created_at": memory["created_at"],
            "anchor_commit": memory.get("anchor_commit"),
            "superseded_by": memory.get("superseded_by"),
            "deleted_at": memory.get("archived_at"),
        }
    )


_BRIEF = ("id", "thread_id", "title", "summary", "created_at", "anchor_commit", "superseded_by")


def _brief(memory: Mapping[str, Any]) -> Json:
    detail = _detail(memory)
    return {name: detail[name] for name in _BRIEF if name in detail}


@old_tool(calls="memory_get")
async def show(ask: OurTools, *, id: str) -> Json:
    """A memory, or a passage of a note, whole."""
    wanted, missing = require(id, "id"), f"id not found: {id.strip()}"
    try:
        return {"kind": "memory", "memory": _detail(await one_memory(ask, wanted, missing))}
    except OldToolRefusal as refusal:
        if refusal.code != "not_found":
            raise
    try:
        found = await ask("fetch", id=wanted.partition("#")[0], max_tokens=WHOLE)
    except OldToolRefusal:
        raise OldToolRefusal(missing, "not_found") from None
    if found.get("text") is None:
        raise OldToolRefusal(missing, "not_found")
    chunk = {"id": wanted, "artifact_id": found["id"], "locator": wanted, "text": found["text"]}
    return {"kind": "chunk", "chunk": chunk}


@old_tool(calls="memory_forget")
async def forget(ask: OurTools, *, id: str) -> Json:
    """Take a memory out of use."""
    wanted = require(id, "id")
    await one_memory(ask, wanted, f"id not found: {wanted}")
    await ask("memory_forget", ids=[wanted])
    return {"id": wanted, "kind": "memory", "status": "forgotten"}


@old_tool(calls="memory_supersede")
async def supersede(
    ask: OurTools,
    *,
    id: str,
    title: str | None = None,
    summary: str | None = None,
    thread: str | None = None,
    tags: str | None = None,
    entities: str | None = None,
) -> Json:
    """Put a memory in the place of another, which stays traceable."""
    old, said = require(id, "id"), require(title, "title")
    await one_memory(ask, old, f"memory not found: {old}")
    new = await ask("memory_supersede", id=old, title=said, content=require(summary, "summary"))
    more = {"thread": thread, "tags": split_names(tags), "keywords": split_names(entities)}
    if any(more.values()):
        await ask("memory_update", id=new["id"], **{name: value or None for name, value in more.items()})
    return {"old_id": old, "new_id": new["id"], "status": "superseded"}


def _thread(thread: Mapping[str, Any]) -> Json:
    return {"thread_id": thread["name"], "created_at": thread["last_at"], "memory_count": thread["memories"]}


@old_tool(calls="threads list")
async def threads(ask: OurTools) -> Json:
    """Threads of the project, the one that changed last first."""
    return {"threads": [_thread(each) for each in (await ask("threads", limit=100))["threads"]]}


@old_tool(calls="threads show")
async def thread(ask: OurTools, *, thread_id: str, limit: Annotated[int, Field(ge=1, le=100)] = 20) -> Json:
    """A thread and its memories."""
    wanted = require(thread_id, "thread id")
    try:
        found = await ask("threads", action="show", thread=wanted, limit=limit)
    except OldToolRefusal as refusal:
        missing = OldToolRefusal(f"thread not found: {wanted}", "not_found")
        raise missing if refusal.code == "not_found" else refusal from None
    whole = await read_whole(ask, [each["id"] for each in found["memories"]])
    return {"thread": _thread(found["threads"][0]), "memories": [_brief(each) for each in whole.values()]}


@old_tool(calls="memory_list")
async def recent(ask: OurTools, *, limit: Limit = 20, repo: Project = None, workspace: str | None = None) -> Json:
    """The newest memories."""
    asked = {"limit": limit, "max_tokens": WHOLE, "workspace": join_place(repo, workspace)}
    return {"memories": [_brief(each) for each in (await ask("memory_list", **asked))["memories"]]}


@old_tool(calls="session_history")
async def sessions(
    ask: OurTools,
    *,
    limit: Annotated[int, Field(ge=1, le=50)] = 20,
    needs_summary: bool = False,
    count: bool = False,
) -> OldAnswer:
    """Sessions, the newest first."""
    found = await ask("session_history", limit=50 if needs_summary else limit, max_tokens=WHOLE)
    known = [each for each in found["sessions"] if not (needs_summary and each.get("summary"))]
    if count:
        total = len(known) if needs_summary else found["total"]
        return OldAnswer({"sessions": {"count": total}})
    return OldAnswer({"sessions": [_session(each) for each in known[:limit]]})


def _session(session: Mapping[str, Any]) -> Json:
    return {
        "id": session["id"],
        "thread_id": next(iter(session.get("threads") or ()), ""),
        "title": session.get("goal") or "",
        "summary": session.get("summary") or "",
        "created_at": session["started_at"],
    }


@old_tool(calls="session_save")
async def session_upsert(ask: OurTools, *, title: str | None = None, summary: str | None = None) -> Json:
    """Say what the present session is about."""
    kept = (await ask("session_save", goal=require(title, "title"), summary=summary or None))["session"]
    told = _session(kept)
    return {
        "id": told["id"],
        "action": "updated",
        "created": False,
        "updated": True,
        **{name: told[name] for name in ("thread_id", "title", "summary")},
        "updated_at": kept.get("ended_at") or kept["seen_at"],
    }


@old_tool(calls="memory_list")
async def repos(ask: OurTools) -> Json:
    """The projects that memories are of, the one that changed last first."""
    seen: dict[str, str] = {}
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await ask("memory_list", workspace="all", limit=_PAGE, max_tokens=WHOLE, cursor=cursor)
        for each in page["memories"]:
            seen.setdefault(each["workspace"], each["created_at"])
        if (cursor := page.get("cursor")) is None:
            break
    rows = [{"repo_id": name, "root_name": "", "git_root": "", "last_seen_at": at} for name, at in seen.items()]
    return {"repos": rows}


@old_tool(calls="status")
async def embed_status(ask: OurTools) -> Json:
    """Which texts have vectors."""
    now = await ask("status")
    model, passages = now["embedding"], now["index"]["passages"]
    ready, missing = model["status"] == "ready", model["pending"]
    return {
        "repo_id": now["vault"],
        "workspace": "default",
        "provider": model.get("engine") or "none",
        "model": model.get("model") or "",
        "enabled": ready,
        "note": "memories and chunks are counted together",
        "vectors": {"configured": bool(model.get("model")), "available": ready, "enabled": ready},
        "chunk": {"with_embeddings": passages - missing, "missing": missing, "total": passages, "stale": 0},
        "queue_depth": missing,
    }
