"""Sessions: who works on what, and where the last one left off."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import Field

from auth.roles import Role
from server.call import Call
from server.tool_spec import EDITS, Arguments, MaxTokens, tool
from vaults.activity_log.entries import ActivityEntry
from vaults.db.sql import Reader
from vaults.domain.continuity import handoffs, resume_brief, sessions
from vaults.domain.continuity.handoffs import Handoff
from vaults.domain.continuity.session_events import SessionEvent
from vaults.domain.continuity.sessions import SessionEnding, SessionFilter, SessionStatus, SessionSummary, SessionView
from vaults.domain.memories.memory_model import Metadata
from vaults.domain.paging import token_budget
from vaults.domain.secrets import redaction
from vaults.domain.text.fields import Filled, Label

SessionLine = Annotated[Filled, Field(max_length=500)]
SessionLines = Annotated[list[SessionLine], Field(max_length=50)]


class SessionResumeArguments(Arguments):
    limit: Annotated[int, Field(ge=1, le=50, description="recent sessions shown")] = 5
    max_tokens: MaxTokens = 700


@dataclass(frozen=True, slots=True)
class SessionResumeResult:
    """Your session, what others did before you, who is at work now, and the handoff that waits for you."""

    session: SessionView
    sessions: list[SessionView]
    concurrent: list[SessionView] = field(default_factory=list)
    concurrent_total: int = 0
    recent_activity: list[SessionEvent] = field(default_factory=list)
    handoff: Handoff | None = None
    truncated: bool = False


@tool(
    role=Role.READER,
    hidden_args=("max_tokens",),
    activity_entry=lambda _, found: ActivityEntry(
        "session_resumed"
        if found.sessions or found.handoff
        else "tool_call",  # usage counts those that opened something
        None,
        f"resumed, {len(found.sessions)} sessions shown",
    ),
)
async def session_resume(call: Call, args: SessionResumeArguments) -> SessionResumeResult:
    """What earlier sessions did and left, who is at work now, and your session's handle. Use it when you begin."""
    found = await sessions.read_resume_context(call.vault, call.recipient, call.session, args.limit)
    told = resume_brief.shorten_to_budget(found, args.max_tokens)
    return SessionResumeResult(
        session=told.session,
        sessions=told.sessions,
        concurrent=told.concurrent,
        concurrent_total=told.concurrent_total,
        recent_activity=told.recent_activity,
        handoff=told.handoff,
        truncated=told != found,
    )


class SessionSaveArguments(Arguments):
    summary: Annotated[Filled | None, Field(max_length=2000, description="what was done, for whoever comes next")] = (
        None
    )
    goal: Annotated[Filled | None, Field(max_length=1000, description="what it was for")] = None
    actions: Annotated[SessionLines | None, Field(description="what was done, step by step")] = None
    outcomes: Annotated[SessionLines | None, Field(description="what came of it")] = None
    where_left_off: Annotated[Filled | None, Field(max_length=2000, description="where to go on")] = None
    status: Annotated[SessionEnding, Field(description="paused can be gone on with")] = "paused"
    metadata: Metadata | None = None


@dataclass(frozen=True, slots=True)
class SessionSaveResult:
    """The session as it was saved."""

    session: SessionView


@tool(
    role=Role.WRITER,
    effect=EDITS,
    head=lambda kept: f"The session is {kept.session.status}; its claims are free.",
    summary="save where a session stands",
    hidden_args=("metadata",),
    activity_entry=lambda _, kept: ActivityEntry(
        "session_saved", kept.session.id, f"saved the session as {kept.session.status}"
    ),
)
async def session_save(call: Call, args: SessionSaveArguments) -> SessionSaveResult:
    """Save where you stand, for whoever goes on: a later you, or somebody else. Use it before you stop; frees your
    claims."""
    given: dict[str, Any] = args.model_dump(
        include={"summary", "goal", "actions", "outcomes", "where_left_off", "metadata"}
    )
    kept = redaction.refuse_or_redact(given, call.vault.shared.hygiene).fields
    return SessionSaveResult(
        await sessions.save(call.vault, call.actor, call.session, SessionSummary(**kept), args.status)
    )


CHARACTERS_A_TOKEN = 3
"""Of JSON, counted low, so that what it makes room for fits."""

MAX_HANDOFFS = 100
"""Handoffs told at most."""


class SessionHistoryArguments(Arguments):
    id: Annotated[Label | None, Field(description="only this session, with what it did, left and took over")] = None
    status: Annotated[SessionStatus | None, Field(description="only such sessions")] = None
    since: Annotated[Label | None, Field(description="begun at or after, RFC 3339")] = None
    until: Annotated[Label | None, Field(description="begun at or before, RFC 3339")] = None
    handoffs: Annotated[bool, Field(description="also what was handed over in them")] = False
    limit: Annotated[int, Field(ge=1, le=50, description="sessions at most")] = 10
    max_tokens: MaxTokens = 4000


@dataclass(frozen=True, slots=True)
class SessionHistoryResult:
    """Sessions, the newest first. ``total`` counts all that fit. ``handoffs``: left or taken over in them, where that
    was asked for or one session was."""

    sessions: list[SessionView]
    total: int
    truncated: bool = False
    handoffs: list[Handoff] = field(default_factory=list)


@tool(role=Role.READER, preset="notes")
async def session_history(call: Call, args: SessionHistoryArguments) -> SessionHistoryResult:
    """Sessions of this vault by time and status, with what each did by tool. Use it to find out who did what when."""
    if args.id is not None:
        return await _open(call, args.id, args.max_tokens)
    found, total = await sessions.history(
        call.vault, call.actor, SessionFilter(args.status, args.since, args.until), args.limit
    )
    shown = await token_budget.fit_rows(call.vault, found, args.max_tokens)
    left = await _read_handoffs(call, [each.id for each in shown], args.max_tokens) if args.handoffs else []
    return SessionHistoryResult(shown, total, len(shown) < total, left)


async def _open(call: Call, handle: str, max_tokens: int) -> SessionHistoryResult:
    opened = await sessions.open_session(call.vault, call.actor, handle)
    itself = len(token_budget.to_sent_json(replace(opened, activity_log=[]))) // CHARACTERS_A_TOKEN
    # The log is cut here, at its beginning: an answer that is too long loses its end.
    share = max(1, max_tokens - token_budget.FRAME_TOKENS - itself) // 2
    events = await token_budget.fit_rows(call.vault, opened.activity_log[::-1], share)
    shown = replace(opened, activity_log=events[::-1])
    left = await _read_handoffs(call, [handle], share)
    return SessionHistoryResult([shown], 1, len(events) < len(opened.activity_log), left)


async def _read_handoffs(call: Call, handles: list[str], max_tokens: int) -> list[Handoff]:
    def read(tx: Reader) -> list[Handoff]:
        return handoffs.list_of_sessions(tx, call.recipient, handles, MAX_HANDOFFS)

    return await token_budget.fit_rows(call.vault, await call.vault.db.read(read), max_tokens)
