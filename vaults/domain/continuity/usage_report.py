"""What calls cost: how many, how long, how many tokens, and how many they saved, from the events of the activity
log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil

from vaults.db.sql import Reader, Row
from vaults.domain.continuity import feedback
from vaults.domain.continuity.session_events import BASELINE, IS_CALL_EVENT, QUOTING
from vaults.vault import Vault

MAX_EVENTS = 250_000
"""Newest events counted at most: the report takes a third of a second however many there are."""

MAX_CALLERS = 50
"""Max callers listed."""

COLD_START, RESUME_TOKENS = 8000, 325
"""Tokens an agent spends finding out what went on before, and tokens of being told: their difference is what a resumed
session saves."""


@dataclass(frozen=True, slots=True)
class ToolUsage:
    """One tool's calls. Times are to 0.1 ms, above 100 ms to 1 ms; tokens are estimated from lengths. ``right``: how
    likely it is the right tool, by what callers said of it; None before 15 have. ``baseline_tokens``: what the
    notes, memories and documents that its answers quote would have cost whole; None of tools that quote none."""

    tool: str
    calls: int
    errors: int
    p50_ms: float
    p95_ms: float
    tokens_in: int
    tokens_out: int
    right: float | None = None
    baseline_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class CallerUsage:
    """One caller's calls."""

    who: str
    calls: int
    errors: int
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True)
class UsageReport:
    """All calls since ``since``, busiest tools first."""

    since: str
    truncated: bool  # more events than are counted: ``since`` is later than was asked
    sessions: int
    resumed: int  # calls that opened what an earlier session left
    saved: int  # tokens that packs left out of their sources
    tools: list[ToolUsage] = field(default_factory=list)
    callers: list[CallerUsage] = field(default_factory=list)


async def read_usage(vault: Vault, since: str, *, by_caller: bool, owner: str | None = None) -> UsageReport:
    """Usage since a stored time, by ``owner``, or by everybody. Only admins see the latter: the lengths of what others
    store and find would reveal something of their private texts."""
    await vault.activity_log.flush()
    return await vault.db.read(lambda tx: count_usage(tx, since, by_caller=by_caller, owner=owner))


def count_usage(tx: Reader, since: str, *, by_caller: bool, owner: str | None = None) -> UsageReport:
    """Like ``read_usage``, from the events already written."""
    floor = int(tx.value("SELECT COALESCE(MAX(seq), 0) FROM events")) - MAX_EVENTS + 1
    span = {"floor": floor, "since": since, "owner": owner}
    earlier = floor > 1 and tx.one("SELECT 1 FROM events WHERE seq < :floor AND at >= :since LIMIT 1", span)
    if earlier:
        first = str(tx.value("SELECT at FROM events WHERE seq >= :floor ORDER BY seq LIMIT 1", span))
        span["since"] = since = max(since, first)
    sessions, resumed, saved = tx.one(
        "SELECT COUNT(DISTINCT session), SUM(CASE WHEN type IN ('session_resumed', 'handoff_read', 'handoff_accepted')"
        f" THEN 1 ELSE 0 END), SUM(CASE tool WHEN 'context' THEN saved ELSE 0 END) FROM {_SPAN}",
        span,
    ) or (0, 0, 0)
    return UsageReport(
        since=since,
        truncated=bool(earlier),
        sessions=int(sessions),
        resumed=int(resumed or 0),
        saved=int(saved or 0),
        tools=_count_tools(tx, span),
        callers=_count_callers(tx, span) if by_caller else [],
    )


_SPAN = "events AS e NOT INDEXED WHERE e.seq >= :floor AND e.at >= :since AND (:owner IS NULL OR e.owner = :owner)"
"""The newest events, read in the order they have on disk: through the index on time each would be looked up singly, and
where the clock was set back times are out of order."""

_STEP = "CASE WHEN ms < 100 THEN CAST(ms * 10 AS INTEGER) ELSE CAST(ms AS INTEGER) * 10 END"
"""A call's time in tenths of a millisecond, in steps: calls are counted per step, so none has to be sorted."""


def _count_tools(tx: Reader, span: Mapping[str, object]) -> list[ToolUsage]:
    rows = tx.all(
        f"SELECT tool, {_STEP} AS step, COUNT(*), SUM(CASE outcome WHEN 'ok' THEN 0 ELSE 1 END), SUM(tokens_in),"
        f" SUM(tokens_out), SUM({BASELINE}) FROM {_SPAN} AND {IS_CALL_EVENT} GROUP BY step, tool ORDER BY step, tool",
        span,
    )  # the step first: to sort by numbers takes a fifth less time
    by_tool: defaultdict[str, list[Row]] = defaultdict(list)
    for tool, *step in rows:
        by_tool[tool].append(tuple(step))
    right = feedback.posteriors(tx)
    found = [_to_tool_usage(tool, steps, right.get(tool)) for tool, steps in by_tool.items()]
    return sorted(found, key=lambda use: (-use.calls, use.tool))


def _to_tool_usage(tool: str, steps: list[Row], right: float | None) -> ToolUsage:
    calls, errors, tokens_in, tokens_out = (sum(int(step[part]) for step in steps) for part in range(1, 5))
    baseline = sum(int(step[5] or 0) for step in steps) if tool in QUOTING else None
    p50, p95 = (_quantile(steps, calls, share) for share in (0.50, 0.95))
    return ToolUsage(
        tool=tool,
        calls=calls,
        errors=errors,
        p50_ms=p50,
        p95_ms=p95,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        right=right,
        baseline_tokens=baseline,
    )


def _quantile(steps: list[Row], calls: int, share: float) -> float:
    """The least time, in ms, that this share of the calls does not exceed."""
    left = ceil(calls * share)
    for tenths, count, *_ in steps:
        left -= int(count)
        if left <= 0:
            return int(tenths) / 10
    return 0.0


def _count_callers(tx: Reader, span: Mapping[str, object]) -> list[CallerUsage]:
    rows = tx.all(
        "SELECT COALESCE((SELECT s.who FROM sessions s WHERE s.owner = e.owner ORDER BY s.seq DESC LIMIT 1), e.owner),"
        " COUNT(*), SUM(CASE e.outcome WHEN 'ok' THEN 0 ELSE 1 END), SUM(e.tokens_in), SUM(e.tokens_out)"
        f" FROM {_SPAN} AND {IS_CALL_EVENT} GROUP BY e.owner ORDER BY COUNT(*) DESC, e.owner LIMIT :callers",
        {**span, "callers": MAX_CALLERS},
    )
    return [CallerUsage(*row) for row in rows]


@dataclass(frozen=True, slots=True)
class Savings:
    """Tokens. ``estimated``: had every session that was resumed begun cold instead, at ``COLD_START`` tokens; ``net``
    is that less what tools and answers cost, ``percent`` its share of the cold starts. ``measured``: what packs left
    out of what they were made of."""

    cold_starts_avoided: int
    estimated: int
    overhead: int
    responses: int
    net: int
    percent: float | None
    measured: int


def estimate_savings(report: UsageReport, schemas: int) -> Savings:
    """What resumed sessions saved of what was spent, where every session is shown tools of ``schemas`` tokens."""
    gross = report.resumed * (COLD_START - RESUME_TOKENS)
    overhead, responses = report.sessions * schemas, sum(use.tokens_out for use in report.tools)
    net, cold = gross - overhead - responses, report.resumed * COLD_START
    percent = round(100 * net / cold, 1) if cold else None
    return Savings(
        cold_starts_avoided=report.resumed,
        estimated=gross,
        overhead=overhead,
        responses=responses,
        net=net,
        percent=percent,
        measured=report.saved,
    )
