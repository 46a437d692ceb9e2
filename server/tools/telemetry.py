"""What memory costs and saves, and what its users say of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import Field

from auth.roles import Role
from server.call import Call
from server.tool_registry import ToolRegistry
from server.tool_spec import EDITS, LOOKS, Action, Arguments, tool
from vaults import clock
from vaults.activity_log.entries import ActivityEntry
from vaults.context import run_in
from vaults.domain.continuity import feedback as opinions
from vaults.domain.continuity import usage_report
from vaults.domain.continuity.feedback import Feedback, FeedbackType
from vaults.domain.continuity.usage_report import CallerUsage, Savings, ToolUsage
from vaults.domain.maintenance import daily_growth
from vaults.domain.maintenance.daily_growth import DayGrowth
from vaults.domain.memories import cleanup
from vaults.domain.memories.cleanup import CleanupFindings
from vaults.domain.secrets import redaction
from vaults.domain.text.fields import Filled, Label, Text
from vaults.domain.text.plurals import pluralize
from vaults.durations import parse_duration
from vaults.errors import InvalidArgument
from vaults.search import tokenizer


class UsageArguments(Arguments):
    action: Annotated[Literal["report", "archive"], Field(description="report, or archive first")] = "report"
    since: Annotated[Text, Field(max_length=40, description="a duration such as 7d, or an RFC 3339 time")] = "30d"
    kind: Annotated[cleanup.CleanupKind | None, Field(description="archive: which findings of the report")] = None


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """``schemas``: exactly what the tools you are shown take of every session of yours, in cl100k. Arguments and
    results are estimated, at four characters a token."""

    schemas: int
    arguments: int
    results: int


@dataclass(frozen=True, slots=True)
class UsageResult:
    """Calls since ``since``: yours, or to an admin everybody's. ``truncated``: only the newest events are counted.
    ``growth`` and ``hygiene`` are of what you may see; ``callers`` is for admins."""

    since: str
    truncated: bool
    sessions: int
    tools: list[ToolUsage]
    tokens: TokenUsage
    savings: Savings
    growth: list[DayGrowth]
    hygiene: CleanupFindings
    callers: list[CallerUsage] = field(default_factory=list)
    archived: list[str] = field(default_factory=list)


def _usage_entry(args: UsageArguments, _report: UsageResult) -> ActivityEntry | None:
    if args.action == "report":
        return None
    # Without a number: some may be private.
    return ActivityEntry("memory_archived", None, f"archived what was {_HYGIENE_WORDS[str(args.kind)]}")


_HYGIENE_WORDS = {"duplicates": "kept twice", "never_read": "never read", "expired": "expired"}


@tool(
    role=Role.WRITER,
    effect=EDITS,
    preset="full",
    actions={"report": LOOKS, "archive": Action(Role.WRITER, "archive memories")},
    head=lambda found: f"Archived {pluralize(len(found.archived), 'memory', 'memories')}." if found.archived else "",
    activity_entry=_usage_entry,
)
async def usage(call: Call, args: UsageArguments) -> UsageResult:
    """What memory cost and saved: calls, errors, times and tokens by tool, savings, growth, and what could be tidied
    away. Use it when somebody asks what this costs, or before tidying up; action archive does that for one kind."""
    since = _moment(args.since)
    archived: list[str] = []
    if args.action == "archive":
        if args.kind is None:
            raise InvalidArgument("kind", "is required to archive: duplicates, never_read or expired")
        archived = await cleanup.archive(call.vault, call.actor, args.kind)
    admin = call.role == Role.ADMIN
    found = await usage_report.read_usage(
        call.vault, since, by_caller=admin, owner=None if admin else call.actor.identity
    )
    schemas = await run_in(
        call.vault.shared.pool,
        count_schema_tokens,
        call.services.registry,
        call.role,
        call.caller.preset,
        call.caller.write_mode,
    )
    return UsageResult(
        since=found.since,
        truncated=found.truncated,
        sessions=found.sessions,
        tools=found.tools,
        tokens=TokenUsage(
            schemas, sum(use.tokens_in for use in found.tools), sum(use.tokens_out for use in found.tools)
        ),
        savings=usage_report.estimate_savings(found, schemas),
        growth=await daily_growth.read_daily_growth(call.vault, call.actor),
        hygiene=await cleanup.find_cleanup(call.vault, call.actor),
        callers=found.callers,
        archived=archived,
    )


def _moment(since: str) -> str:
    try:
        return clock.ago(parse_duration(since))
    except ValueError:
        return clock.parse(since, "since")
    except OverflowError:
        raise InvalidArgument("since", "must not lie before the year 1") from None


@lru_cache(maxsize=64)
def count_schema_tokens(registry: ToolRegistry, role: Role, preset: str, write_mode: str) -> int:
    """What a model is shown of the tools, in cl100k tokens. Blocking: 0.25 s the first time in a process."""
    shown = [
        {
            "name": spec.name,
            "description": spec.description,
            "inputSchema": spec.input_schema_for(role, preset, write_mode),
        }
        for spec in registry.visible(role, preset, write_mode)
    ]
    return tokenizer.count_tokens(json.dumps(shown, ensure_ascii=False))


class FeedbackArguments(Arguments):
    type: Annotated[FeedbackType, Field(description="what kind of word it is")]
    message: Annotated[Filled | None, Field(max_length=2000, description="what happened, what you wanted")] = None
    tool: Annotated[Label | None, Field(description="tool it is about; needed for right_tool, wrong_tool")] = None
    call_id: Annotated[Label | None, Field(description="id of the call it is about")] = None


@dataclass(frozen=True, slots=True)
class FeedbackResult:
    """What was said is kept."""

    id: str
    type: str
    tool: str | None


@tool(
    role=Role.WRITER,
    preset="full",
    render=lambda kept: f"Kept as {kept.id}.",
    summary="leave feedback for the people who run this memory",
    activity_entry=lambda _args, kept: ActivityEntry(
        "feedback", kept.id, f"gave feedback: {kept.type.replace('_', ' ')}"
    ),
)
async def feedback(call: Call, args: FeedbackArguments) -> FeedbackResult:
    """Tell the people who run this memory about a bug, a wish or a nuisance, or whether a tool was the right one. Use
    it when a tool fails you or serves you well."""
    if args.tool is not None and call.services.registry.get(args.tool) is None:
        raise InvalidArgument("tool", "is not a tool of this server", hint="discover_tools names them")
    given = {"message": args.message, "call_id": args.call_id}
    kept = redaction.refuse_or_redact(given, call.vault.shared.hygiene).fields
    said = Feedback(args.type, kept["message"], args.tool, kept["call_id"])
    return FeedbackResult(
        await opinions.record_feedback(call.vault, call.actor, call.session, said), args.type, args.tool
    )
