"""Local Recall's five tools (0.1): what was learned, and how it was reasoned."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, get_args

from pydantic import Field

from server.toolsets.memories import WHOLE, one_memory, read_whole
from server.toolsets.old_tool import NOT_VALID, OldAnswer, OldToolRefusal, OurTools, Toolset, old_tool
from vaults.memory_types import MemoryType

Scope = Annotated[str, Field(max_length=500, description="global, file:<path> or area:<name>")]
Json = dict[str, Any]

_THINKING = ("thinking",)
_EPISODIC = tuple(kind for kind in get_args(MemoryType) if kind not in _THINKING)
"""Whatever else is remembered counts as learned: a vault may hold what other agents stored."""

_CHARACTERS_PER_TOKEN = 4
_HASH = 16
_MOST_HITS = 500


def _body(memory: Mapping[str, Any]) -> Json:
    keywords = {} if memory["type"] in _THINKING else {"keywords": memory["keywords"]}
    return {
        "id": memory["id"],
        "subject": memory["title"],
        **keywords,
        "applies_to": memory["applies_to"],
        "occurred_at": memory.get("occurred_at") or memory["created_at"],
        "content_hash": hashlib.sha256(memory["content"].encode()).hexdigest()[:_HASH],
        "content": memory["content"],
    }


async def _get(ask: OurTools, memory_id: str, types: tuple[str, ...]) -> Json:
    missing = f"Memory with ID {memory_id} not found"
    memory = await one_memory(ask, memory_id, missing)
    if memory["type"] not in types:
        raise OldToolRefusal(missing, "not_found")
    return _body(memory)


async def _search(
    ask: OurTools, query: str, types: tuple[str, ...], scope: str | None, bounds: tuple[float, float]
) -> Json:
    """Whole memories as long as they fit ``bounds``: how many, and of how many tokens. The first always fits."""
    limit, max_tokens = bounds
    most = min(max(int(limit), 1), _MOST_HITS)
    asked = {"query": query, "types": list(types), "applies_to": scope, "limit": most}
    found = await ask("recall", max_tokens=WHOLE, **asked)
    hits = found["hits"]
    whole = await read_whole(ask, [each["id"] for each in hits])
    results: list[Json] = []
    used = 0
    for hit in hits:
        memory = whole.get(hit["id"])
        if memory is None:  # purged meanwhile
            continue
        tokens = -(-len(memory["content"]) // _CHARACTERS_PER_TOKEN)
        if results and used + tokens > max_tokens:
            break
        body = _body(memory)
        del body["content_hash"]
        results.append({**body, "similarity": _similarity(hit, found["mode_used"])})
        used += tokens
    return {"results": results, "total": len(results), "tokens_used": used}


def _similarity(hit: Mapping[str, Any], mode: str) -> float:
    """The cosine, as there: comparable between questions, so that a bound of one's own means something. Without a model
    there is none, and the score of the words stands in."""
    return float(hit["score"] if mode == "keyword" else max(0.0, hit["signals"].get("semantic", 0.0)))


@old_tool(calls="remember")
async def episodic_create(
    ask: OurTools,
    *,
    subject: Annotated[str, Field(min_length=1, max_length=200)],
    keywords: Annotated[list[Annotated[str, Field(min_length=1, max_length=50)]], Field(min_length=1, max_length=20)],
    applies_to: Scope,
    content: Annotated[str, Field(min_length=10, description="Markdown")],
) -> Json:
    """Keep what later sessions should know: a decision, a fix and its cause, a preference."""
    stored = await ask(
        "remember", title=subject, keywords=keywords, applies_to=applies_to, content=content, type="episodic"
    )
    return {"success": True, "id": stored["id"], "message": "Episodic memory created successfully"}


@old_tool(calls="memory_get")
async def episodic_get(ask: OurTools, *, id: str) -> Json:
    """Read a memory whole."""
    return await _get(ask, id, _EPISODIC)


@old_tool(calls="recall")
async def episodic_search(
    ask: OurTools,
    *,
    query: Annotated[str, Field(description="in plain words")],
    scope: Scope | None = None,
    limit: float = 10,
    max_tokens: float = 2000,
) -> Json:
    """Find past decisions, fixes, conventions and preferences. Use it before you decide or propose something."""
    return await _search(ask, query, _EPISODIC, scope, (limit, max_tokens))


@old_tool(calls="memory_get")
async def thinking_get(ask: OurTools, *, id: str) -> Json:
    """Read a train of thought whole."""
    return await _get(ask, id, _THINKING)


@old_tool(calls="recall")
async def thinking_search(
    ask: OurTools, *, query: str, scope: Scope | None = None, limit: float = 10, max_tokens: float = 2000
) -> Json:
    """Find how similar problems were reasoned about, and what came of it."""
    return await _search(ask, query, _THINKING, scope, (limit, max_tokens))


_CODES = {
    "not_found": "MEMORY_NOT_FOUND",
    NOT_VALID: "INVALID_INPUT",
    "invalid_argument": "INVALID_INPUT",
    "index_unavailable": "INDEX_ERROR",
    "embedding_unavailable": "OLLAMA_ERROR",
}


def _to_error(refusal: OldToolRefusal) -> OldAnswer:
    """A failure is a result there, with a code."""
    return OldAnswer({"error": {"code": _CODES.get(refusal.code, "STORAGE_ERROR"), "message": refusal.message}})


TOOLSET = Toolset(
    name="local-recall",
    system="Local Recall",
    published_tokens=742,
    instructions="Memory of what was learned (episodic) and how it was reasoned (thinking). Search before you decide;"
    " create what later sessions need.",
    tools=(episodic_create, episodic_get, episodic_search, thinking_get, thinking_search),
    to_error=_to_error,
)
