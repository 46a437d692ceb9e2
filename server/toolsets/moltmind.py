"""MoltMind's set (0.9.0): fourteen core tools, and the social ones where the server has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from server.toolsets.memories import found_memories, one_memory, tier_of
from server.toolsets.moltmind_social import SOCIAL_TOOLS
from server.toolsets.old_tool import NOT_VALID, OldAnswer, OldToolRefusal, OurTools, Toolset, old_tool

Title = Annotated[str, Field(max_length=500)]
Body = Annotated[str, Field(max_length=51_200)]
Kind = Literal["learning", "error", "decision", "plan", "raw"]
Labels = Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=20)]
Json = dict[str, Any]

_SHORT = 8
"""Characters of a session's id where it only tells sessions apart."""


@old_tool(calls="remember")
async def mm_store(
    ask: OurTools,
    *,
    title: Title,
    content: Body,
    type: Kind = "raw",
    tags: Labels | None = None,
    metadata: Json | None = None,
) -> Json:
    """Keep something worth knowing in later sessions."""
    stored = await ask(
        "remember",
        title=title if title.strip() else None,
        content=content if content.strip() else title,
        type=type,
        tags=tags,
        metadata=metadata,
        tier="hot",
        on_duplicate="store",
    )
    return {"success": True, "id": stored["id"], "message": f"Memory stored: {stored['title']}"}


@old_tool(calls="recall")
async def mm_recall(
    ask: OurTools,
    *,
    query: Annotated[str, Field(max_length=1000, description="in plain words")],
    limit: Annotated[int, Field(ge=1, le=500)] = 10,
    tier: Literal["hot", "warm", "cold"] | None = None,
    type: Kind | None = None,
) -> Json:
    """Find memories by meaning and by words."""
    filters = {"types": [type] if type else None, "tiers": [tier] if tier else None}
    names = ("id", "title", "content", "type", "score", "tags", "created_at")
    found = await found_memories(ask, query=query, limit=limit, **filters)
    results = [{name: each[name] for name in names} for each in found]
    return {"success": True, "results": results, "count": len(results)}


_MEMORY = ("id", "type", "title", "content", "tags", "metadata", "tier", "created_at", "updated_at")


def _memory(memory: Mapping[str, Any]) -> Json:
    whole = {**memory, "tier": tier_of(memory)}
    return {name: whole[name] for name in _MEMORY}


@old_tool(calls="memory_get")
async def mm_read(ask: OurTools, *, id: str) -> Json:
    """Read a memory whole."""
    memory = await one_memory(ask, id, "Memory not found")
    read = {"accessed_at": memory.get("accessed_at"), "access_count": memory.get("access_count")}
    return {"success": True, "memory": _memory(memory) | read}


@old_tool(calls="memory_update")
async def mm_update(
    ask: OurTools,
    *,
    id: str,
    title: Title | None = None,
    content: Body | None = None,
    type: Kind | None = None,
    tags: Labels | None = None,
    metadata: Json | None = None,
    tier: Literal["hot", "warm", "cold", "archived"] | None = None,
) -> Json:
    """Change the given fields of a memory."""
    await one_memory(ask, id, "Memory not found")
    fields = {"title": title, "content": content, "type": type, "tags": tags, "metadata": metadata, "tier": tier}
    if any(value is not None for value in fields.values()):
        await ask("memory_update", id=id, **fields)
    memory = _memory(await one_memory(ask, id, "Memory not found"))
    shown = ("id", "type", "title", "content", "tags", "tier", "updated_at")
    return {"success": True, "memory": {name: memory[name] for name in shown}}


@old_tool(calls="memory_forget")
async def mm_delete(ask: OurTools, *, id: str) -> Json:
    """Take a memory out of recall; it is archived."""
    await one_memory(ask, id, "Memory not found")
    await ask("memory_forget", ids=[id])
    return {"success": True, "message": "Memory archived"}


@old_tool(calls="status")
async def mm_status(ask: OurTools) -> Json:
    """How this memory is: counts, health, who is at work."""
    now = await ask("status")
    held = await ask("claims", action="list")
    active = (await ask("session_history", status="active", limit=50))["sessions"]
    holders = {resource: each["id"][:_SHORT] for each in active for resource in each["claims"]}
    kept = now["memories"]
    tiers = {tier: (await ask("memory_list", tiers=[tier], limit=1))["total"] for tier in ("hot", "warm", "cold")}
    gone = kept["archived"] + kept["superseded"]
    return {
        "success": True,
        "version": now["version"],
        "tier": "free" if now["limits"]["bounds"] else "pro",
        "usage": _usage(now["limits"]["bounds"]),
        "db_stats": {
            "total": kept["living"] + gone,
            "by_type": kept["by_type"],
            "by_tier": {tier: many for tier, many in {**tiers, "archived": gone}.items() if many},
        },
        "health_score": now.get("health", 1.0),
        "embedding_model_ready": now["embedding"]["status"] == "ready",
        "active_sessions": [{"id": each["id"][:_SHORT], "started_at": each["started_at"]} for each in active],
        "active_claims": [
            {
                "resource": each["resource"],
                "session_id": holders.get(each["resource"]),
                "description": each.get("description"),
            }
            for each in held["claims"]
        ],
        "recent_events": [
            {"event_type": "tool_call", "summary": each["summary"], "created_at": each["at"]} for each in now["recent"]
        ],
    }


def _usage(bounds: Iterable[Mapping[str, Any]]) -> str:
    """What a plan leaves, in the words of the free tier; the tightest bound of each kind counts."""
    left: dict[str, int] = {}
    for each in bounds:
        left[each["what"]] = min(each["left"], left.get(each["what"], each["left"]))
    daily, total = left.get("stores_per_day"), left.get("memories")
    if daily is None and total is None:
        return "Pro: unlimited"
    words = [f"{daily}/day"] * (daily is not None) + [f"{total} total"] * (total is not None)
    return f"Free: {', '.join(words)} remaining"


@old_tool(calls="status")
async def mm_init(ask: OurTools) -> Json:
    """Say which vault this connection keeps its memories in."""
    vault = (await ask("status"))["vault"]
    return {"success": True, "path": vault, "message": f"This connection is bound to the vault {vault}"}


Lines = list[str]


@old_tool(calls="handoff_create")
async def mm_handoff_create(
    ask: OurTools,
    *,
    goal: str,
    current_state: str,
    next_action: str,
    constraints: Lines | None = None,
    known_unknowns: Lines | None = None,
    artifacts: Lines | None = None,
    stop_conditions: Lines | None = None,
    claims: Annotated[Lines | None, Field(description="what you work on; others are told")] = None,
) -> Json:
    """Hand your work over: goal, state, next step."""
    claimed = [await _claim(ask, resource, goal[:100]) for resource in claims or ()]
    left = await ask(
        "handoff_create",
        goal=goal,
        current_state=current_state,
        next_action=next_action,
        constraints=constraints,
        known_unknowns=known_unknowns,
        artifacts=artifacts,
        stop_conditions=stop_conditions,
        claims=[each["resource"] for each in claimed if each["success"]] or None,
    )
    more = {"claims": claimed} if claimed else {}
    return {"success": True, "handoff": _handoff(left["handoff"]), **more}


async def _claim(ask: OurTools, resource: str, description: str) -> Json:
    try:
        await ask("claims", action="claim", resources=[resource], description=description)
    except OldToolRefusal as refusal:
        holders = refusal.details.get("held_by")
        if not holders:
            raise
        return {"resource": resource, "success": False, "held_by": holders[0]["who"]}
    return {"resource": resource, "success": True}


_HANDOFF = (
    "id", "goal", "current_state", "next_action", "constraints", "known_unknowns", "artifacts", "stop_conditions",
    "created_at",
)  # fmt: skip


def _handoff(handoff: Mapping[str, Any]) -> Json:
    return {name: handoff[name] for name in _HANDOFF} | {"session_id": handoff.get("session")}


@old_tool(calls="handoff_load")
async def mm_handoff_load(ask: OurTools) -> Json:
    """The newest handoff that waits for you."""
    handoff = (await ask("handoff_load")).get("handoff")
    if handoff is None:
        raise OldToolRefusal("No handoff found", "not_found")
    return {"success": True, "handoff": _handoff(handoff)}


@old_tool(calls="feedback")
async def mm_feedback(
    ask: OurTools,
    *,
    type: Literal["bug", "feature_request", "friction"],
    message: Annotated[str, Field(max_length=2000)],
    tool_name: str | None = None,
) -> Json:
    """Tell the people who run this memory what is wrong or missing."""
    tool = TOOLSET.get(tool_name) if tool_name else None
    about = next(iter(tool.calls.values())) if tool is not None else None
    await ask("feedback", type=type, message=message, tool=about)
    return {"success": True, "message": "Feedback recorded. Thank you."}


@old_tool(calls="usage report")
async def mm_metrics(ask: OurTools) -> Json:
    """Calls, errors, times and savings of this memory."""
    now = await ask("status")
    used = await ask("usage", since=now["created_at"])
    last = (await ask("session_history", limit=1))["sessions"]
    tools = used["tools"]
    calls, errors = sum(each["calls"] for each in tools), sum(each["errors"] for each in tools)
    saved = used["savings"]
    failing = sorted((each for each in tools if each["errors"]), key=lambda each: -each["errors"])
    return {
        "success": True,
        "adoption": {
            "total_sessions": used["sessions"],
            "first_seen": now["created_at"],
            "last_seen": last[0]["seen_at"] if last else now["created_at"],
        },
        "health": {
            "score": now.get("health", 1.0),
            "total_tool_calls": calls,
            "total_errors": errors,
            "error_rate_percent": round(100 * errors / calls, 2) if calls else 0,
        },
        "tool_usage": {
            each["tool"]: {
                "calls": each["calls"],
                "errors": each["errors"],
                "error_rate": each["errors"] / each["calls"] if each["calls"] else 0,
                "avg_latency_ms": each["p50_ms"],
            }
            for each in tools
        },
        "top_errors": [{"tool_name": each["tool"], "error_count": each["errors"]} for each in failing[:5]],
        "token_savings": {
            "sessions_tracked": used["sessions"],
            "overhead_tokens": saved["overhead"],
            "tool_response_tokens": saved["responses"],
            "cold_starts_avoided": saved["cold_starts_avoided"],
            "cold_start_savings": saved["estimated"],
            "net_savings": saved["net"],
            "savings_percent": max(0, round(saved.get("percent") or 0)),
            "mode": "default",
        },
    }


@old_tool(calls="session_save")
async def mm_session_save(
    ask: OurTools,
    *,
    summary: Annotated[str | None, Field(max_length=2000)] = None,
    goal: Annotated[str | None, Field(max_length=1000)] = None,
    actions_taken: Lines | None = None,
    outcomes: Lines | None = None,
    where_left_off: Annotated[str | None, Field(max_length=2000)] = None,
    status: Literal["paused", "completed"] = "paused",
    metadata: Json | None = None,
) -> Json:
    """Save what this session did and where it stopped."""
    kept = await ask(
        "session_save",
        summary=summary or None,
        goal=goal or None,
        actions=actions_taken or await _counted_actions(ask),
        outcomes=outcomes,
        where_left_off=where_left_off or None,
        status=status,
        metadata=metadata,
    )
    done = "completed" if status == "completed" else "saved"
    return {"success": True, "message": f"Session {done}", "session": _session(kept["session"])}


async def _counted_actions(ask: OurTools) -> list[str] | None:
    """What the session did by its calls, for one that does not say."""
    own = (await ask("session_resume", limit=1))["session"]["id"]
    tools = (await _tools_by_session(ask)).get(own, [])
    return [
        f"{each['tool']}: {each['calls']} call{'s' * (each['calls'] != 1)}"
        + (f" ({each['failed']} failed)" if each["failed"] else "")
        for each in tools
    ] or None


async def _tools_by_session(ask: OurTools) -> dict[str, list[Json]]:
    known = await ask("session_history", limit=50, max_tokens=100_000)
    return {each["id"]: each["tools"] for each in known["sessions"]}


def _session(session: Mapping[str, Any]) -> Json:
    return {
        **_session_head(session),
        "actions_taken": session["actions"],
        "outcomes": session["outcomes"],
        "metadata": session["metadata"],
    }


def _without_metadata(session: Json) -> Json:
    return {name: value for name, value in session.items() if name != "metadata"}


def _session_head(session: Mapping[str, Any]) -> Json:
    names = ("id", "status", "summary", "goal", "where_left_off", "started_at", "ended_at")
    return {name: session.get(name) for name in names}


def _counts(tools: Iterable[Mapping[str, Any]]) -> Json:
    used = list(tools)
    return {"tool_calls": sum(each["calls"] for each in used), "errors": sum(each["failed"] for each in used)}


def _event(event: Mapping[str, Any]) -> Json:
    return {name: event[name] for name in ("event_type", "summary", "created_at")}


@old_tool(calls="session_resume")
async def mm_session_resume(ask: OurTools, *, limit: Annotated[int, Field(ge=1, le=50)] = 5) -> Json:
    """What the last sessions did and left, and who is at work now. Call it when you begin."""
    found = await ask("session_resume", limit=limit, max_tokens=100_000)
    tools = await _tools_by_session(ask)
    sessions = [
        {
            **_without_metadata(_session(each)),
            **_counts(tools.get(each["id"], ())),
            "activity_log": [_event(event) for event in each["activity_log"]],
        }
        for each in found["sessions"]
    ]
    handoff, active = found.get("handoff"), found["concurrent_total"] + 1
    more = f" ({active} currently active)" if active > 1 else ""
    return {
        "success": True,
        "sessions": sessions,
        "latest_handoff": _handoff(handoff) if handoff else None,
        "concurrent_sessions": active,
        "recent_activity": [
            {"session_id": (event.get("session") or "")[:_SHORT], **_event(event)} for event in found["recent_activity"]
        ],
        "message": f"Found {len(sessions)} recent session(s){more}" if sessions else "No previous sessions found",
    }


@old_tool(calls="session_history")
async def mm_session_history(
    ask: OurTools,
    *,
    status: Literal["active", "paused", "completed"] | None = None,
    since: Annotated[str | None, Field(description="begun after, ISO date")] = None,
    limit: Annotated[int, Field(ge=1, le=50)] = 10,
) -> Json:
    """Past sessions with what each did by tool."""
    found = await ask("session_history", status=status, since=since, limit=limit, max_tokens=100_000)
    sessions = [
        {
            **_session_head(each),
            **_counts(each["tools"]),
            "tools_used": {use["tool"]: {"calls": use["calls"], "errors": use["failed"]} for use in each["tools"]},
        }
        for each in found["sessions"]
    ]
    return {"success": True, "sessions": sessions, "count": len(sessions)}


_PLAN_WORDS = {
    "memories": "Free tier limit: {} total memories reached. Upgrade to Pro for unlimited storage.",
    "stores_per_day": "Free tier limit: {} stores per day reached. Resets tomorrow.",
}


def _to_error(refusal: OldToolRefusal) -> OldAnswer:
    """A failure is a result there, not an error of the protocol."""
    words = _PLAN_WORDS.get(refusal.details.get("what", "")) if refusal.code == "quota_exceeded" else None
    message = words.format(refusal.details["limit"]) if words else refusal.message
    wait = {"retry_after": refusal.details["retry_after_s"]} if refusal.code == "rate_limited" else {}
    return OldAnswer({"success": False, "message": message, **wait}, is_error=refusal.code == NOT_VALID)


TOOLSET = Toolset(
    name="moltmind",
    system="MoltMind",
    published_tokens=2_107,
    instructions="Memory that outlives sessions. Begin with mm_session_resume; end with mm_session_save; in long work,"
    " mm_handoff_create says where it stands.",
    tools=(
        mm_store, mm_recall, mm_read, mm_update, mm_delete, mm_status, mm_init, mm_handoff_create, mm_handoff_load,
        mm_feedback, mm_metrics, mm_session_save, mm_session_resume, mm_session_history,
        *SOCIAL_TOOLS,
    ),
    to_error=_to_error,
)  # fmt: skip
