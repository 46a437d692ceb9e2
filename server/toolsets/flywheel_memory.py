"""Flywheel's tool ``memory``: what is kept under a key, and sessions.

A key there is a key here; one of an agent that names itself has its name before it. What is shared belongs to everybody
there: where the caller has no memory of a key, another's shared one is read and changed, known by ``metadata.key``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from server.toolsets.memories import WHOLE, read_whole
from server.toolsets.old_tool import OldToolRefusal, OurTools, old_tool

Json = dict[str, Any]
Kind = Literal["fact", "preference", "observation", "summary"]
Visibility = Literal["shared", "private"]

_EVERYBODY = "global"
_PRIVATE = "private"
_MAX_KEY = 200
_SUPERSEDED = "superseded"
_USUAL_BRIEF = 1200
_MAX_VALUE = 2000


def _to_key(key: str, agent: str | None = None) -> str:
    plain = f"{agent}/{key}" if agent else key
    return plain if len(plain) <= _MAX_KEY else f"sha256:{hashlib.sha256(plain.encode()).hexdigest()}"


def _shown(memory: Mapping[str, Any], *more: str) -> Json:
    kept = memory["metadata"]
    return {
        "key": kept.get("key") or memory["title"],
        "value": memory["content"],
        "type": memory["type"],
        "entity": memory.get("entity"),
        "confidence": memory.get("confidence", 1.0),
        "visibility": memory["visibility"],
        "owner_scope": kept.get("owner") or _EVERYBODY,
        **{name: memory.get(name) for name in more},
    }


async def _find(ask: OurTools, key: str, agent: str | None) -> Json | None:
    """The living memory of a key: the agent's own, the caller's, another's that is shared."""
    own = [_to_key(key, agent), *([_to_key(key)] if agent else [])]
    opened = (await ask("memory_get", keys=own))["memories"]
    return next(iter(opened), None) or await _find_shared(ask, key)


async def _find_shared(ask: OurTools, key: str) -> Json | None:
    words = " ".join(re.findall(r"\w+", key)).lower()
    if not words:
        return None
    asked = {"query": words, "kinds": ["memory"], "where": {"key": key}, "mode": "keyword"}
    found = await ask("search", limit=50, max_tokens=WHOLE, **asked)
    whole = (await read_whole(ask, [hit["id"] for hit in found["hits"]])).values()
    return next((each for each in whole if each["visibility"] == "shared"), None)


Given = Mapping[str, Any]


async def _store(ask: OurTools, given: Given) -> Json:
    key, agent = given["key"], given["agent_id"]
    if len(given["value"]) > _MAX_VALUE:
        raise OldToolRefusal(f"value must be {_MAX_VALUE} chars or less")
    visibility = given["visibility"] or ("private" if agent else "shared")
    is_shared = visibility == "shared"
    owner = _EVERYBODY if is_shared else agent or _PRIVATE
    fields = {
        "content": given["value"],
        "title": key,
        "type": given["type"],
        "entity": given["entity"],
        "confidence": 1.0 if given["confidence"] is None else given["confidence"],
        "ttl_days": given["ttl_days"],
        "thread": given["thread_id"],
        "visibility": visibility,
        "metadata": {"key": key, "owner": owner},
    }
    known = await _find(ask, key, None) if is_shared else None
    if known is not None and known.get("key") != _to_key(key):
        stored = await ask("memory_update", id=known["id"], **fields)
    else:
        stored = await ask("remember", key=_to_key(key, None if is_shared else agent), **fields)
    memory = (await read_whole(ask, [stored["id"]]))[stored["id"]]
    entity = memory.get("entity")
    told = _shown(memory) | {"entities_detected": [entity] if entity else []}
    thread = {"thread_id": memory["thread"]} if memory.get("thread") else {}
    still = {"still_superseded": True} if memory.get("superseded_by") else {}
    return {"stored": True, "memory": told | thread, **still}


async def _get(ask: OurTools, given: Given) -> Json:
    found = await _find(ask, given["key"], given["agent_id"])
    if found is None:
        return {"found": False, "key": given["key"]}
    names = [found["entity"]] if found.get("entity") else []
    return {"found": True, "memory": _shown(found, "created_at", "updated_at") | {"entities": names}}


def _types(given: Given) -> list[str] | None:
    return [given["type"]] if given["type"] else None


def _about(memories: Iterable[Json], entity: str | None) -> list[Json]:
    return [_shown(each, "updated_at") for each in memories if entity in (None, each.get("entity"))]


async def _search(ask: OurTools, given: Given) -> Json:
    asked = {"query": given["query"], "types": _types(given), "limit": given["limit"]}
    hits = (await ask("recall", max_tokens=WHOLE, **asked))["hits"]
    results = _about((await read_whole(ask, [each["id"] for each in hits])).values(), given["entity"])
    return {"results": results, "count": len(results)}


async def _list(ask: OurTools, given: Given) -> Json:
    asked = {"types": _types(given), "order": "updated", "limit": given["limit"]}
    memories = _about((await ask("memory_list", max_tokens=WHOLE, **asked))["memories"], given["entity"])
    return {"memories": memories, "count": len(memories)}


async def _forget(ask: OurTools, given: Given) -> Json:
    found = await _find(ask, given["key"], given["agent_id"])
    if found is not None:
        await ask("memory_forget", ids=[found["id"]])
    return {"forgotten": found is not None, "key": given["key"]}


def _named(memory: Mapping[str, Any]) -> Json:
    shown = _shown(memory)
    return {"id": memory["id"], "key": shown["key"], "owner_scope": shown["owner_scope"]}


async def _of_thread(ask: OurTools, thread: str) -> list[Json]:
    page = await ask("memory_list", thread=thread, include_archived=True, limit=200, max_tokens=WHOLE)
    return list(page["memories"])


async def _supersede(ask: OurTools, given: Given) -> Json:
    """Archive the facts: nothing takes their place."""
    if given["thread_id"]:
        known = await _of_thread(ask, given["thread_id"])
    else:
        one = await _find(ask, given["key"] or "", given["agent_id"])
        known = [] if one is None else [one]
    living = [each for each in known if not each.get("archived_at")]
    reason = f"{_SUPERSEDED}: {given['reason']}" if given["reason"] else _SUPERSEDED
    for start in range(0, len(living), 50):
        await ask("memory_forget", ids=[each["id"] for each in living[start : start + 50]], reason=reason)
    done = [_named(each) for each in living]
    return {"superseded_count": len(done), "superseded": done, "already_superseded": len(known) - len(living)}


async def _unsupersede(ask: OurTools, given: Given) -> Json:
    known = await _of_thread(ask, given["thread_id"])
    gone = [each for each in known if str(each.get("archived_reason") or "").startswith(_SUPERSEDED)]
    for each in gone:
        await ask("memory_update", id=each["id"], tier=each["tier"])
    restored = [_named(each) for each in gone]
    return {"restored_count": len(gone), "restored": restored, "skipped": len(known) - len(gone)}


async def _summarize(ask: OurTools, given: Given) -> Json:
    about = {name: given[name] for name in ("topics", "notes_modified", "tool_count") if given[name] is not None}
    saved = (await ask("session_save", summary=given["summary"][:_MAX_VALUE], metadata=about))["session"]
    return {"stored": True, "session_id": saved["id"], "summary_length": len(given["summary"])}


async def _brief(ask: OurTools, given: Given) -> Json:
    pack = await ask("context", budget_tokens=max(50, given["max_tokens"] or _USUAL_BRIEF))
    sections = {name: pack.get(name) for name in ("brief", "memories", "rules", "state")}
    used = {"_meta": {"total_estimated_tokens": pack["budget"]["used"]}}
    return {name: each for name, each in sections.items() if each} | used


@dataclass(frozen=True, slots=True)
class MemoryAction:
    """An action: our call that decides who may, the arguments it needs, and what it does."""

    call: str
    needs: tuple[str, ...]
    words: str  # for what it needs
    run: Callable[[OurTools, Given], Awaitable[Json]]


_ACTIONS = {
    "store": MemoryAction("remember", ("key", "value", "type"), "key, value, and type", _store),
    "get": MemoryAction("search", ("key",), "key", _get),
    "search": MemoryAction("recall", ("query",), "query", _search),
    "list": MemoryAction("memory_list", (), "", _list),
    "forget": MemoryAction("memory_forget", ("key",), "key", _forget),
    "supersede": MemoryAction("memory_forget", ("thread_id|key",), "thread_id or key", _supersede),
    "unsupersede": MemoryAction("memory_update", ("thread_id",), "thread_id", _unsupersede),
    "summarize_session": MemoryAction("session_save", ("summary",), "session_id and summary", _summarize),
    "brief": MemoryAction("context", (), "", _brief),
}


@old_tool(calls={name: each.call for name, each in _ACTIONS.items()})
async def memory(
    ask: OurTools,
    *,
    action: Literal[
        "store", "get", "search", "list", "forget", "supersede", "unsupersede", "summarize_session", "brief"
    ],
    key: Annotated[str | None, Field(description="such as user.pref.theme")] = None,
    value: Annotated[str | None, Field(description="≤ 2000 characters")] = None,
    type: Kind | None = None,
    entity: str | None = None,
    confidence: Annotated[float | None, Field(ge=0, le=1)] = None,
    ttl_days: Annotated[float | None, Field(ge=1)] = None,
    visibility: Visibility | None = None,
    thread_id: str | None = None,
    reason: str | None = None,
    query: str | None = None,
    limit: Annotated[int, Field(ge=1, le=200)] = 20,
    agent_id: Annotated[str | None, Field(max_length=80)] = None,
    summary: str | None = None,
    topics: list[str] | None = None,
    notes_modified: list[str] | None = None,
    tool_count: float | None = None,
    max_tokens: Annotated[int | None, Field(ge=1, le=8000, description="of a brief")] = None,
) -> Json:
    """Facts under keys, and sessions: store again to change, get by key, search, list, forget; supersede takes facts
    of a thread or a key out of use; brief tells where things stand. Not for notes."""
    given = {
        "key": key, "value": value, "type": type, "entity": entity, "confidence": confidence, "ttl_days": ttl_days,
        "visibility": visibility, "thread_id": thread_id, "reason": reason, "query": query, "limit": limit,
        "agent_id": agent_id, "summary": summary, "topics": topics, "notes_modified": notes_modified,
        "tool_count": tool_count, "max_tokens": max_tokens,
    }  # fmt: skip
    wanted = _ACTIONS[action]
    if not all(any(given[name] for name in names.split("|")) for names in wanted.needs):
        raise OldToolRefusal(f"{action} requires {wanted.words}")
    return await wanted.run(ask, given)
