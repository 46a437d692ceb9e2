"""What became of things, what nobody looked after, what was going on at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal, get_args

from pydantic import Field

from auth.roles import Role
from server.call import Call
from server.tool_spec import LOOKS, Arguments, MaxTokens, tool
from vaults import clock
from vaults.domain.insights import date_context, entity_evolution, note_facts, stale_notes, vault_growth
from vaults.domain.insights.date_context import DateContext
from vaults.domain.insights.entity_evolution import EntityEvolution
from vaults.domain.insights.note_facts import NearNote, NoteFacts
from vaults.domain.insights.periods import PeriodUnit
from vaults.domain.insights.stale_notes import StaleNote
from vaults.domain.insights.vault_growth import GrowthPeriod
from vaults.domain.notes.read.note_listing import warn_if_behind
from vaults.domain.paging import token_budget
from vaults.domain.text.fields import Label, Text
from vaults.errors import InvalidArgument

InsightsAction = Literal["evolution", "staleness", "context", "note_intelligence", "growth"]

AROUND_DAYS, STALE_DAYS = 3, 90


class InsightsArguments(Arguments):
    action: Annotated[InsightsAction, Field(description="what to look at")] = "growth"
    entity: Annotated[
        Text | None,
        Field(min_length=1, max_length=1024, description="evolution, note_intelligence: a note's path or any name"),
    ] = None
    date: Annotated[Label | None, Field(description="context: a day, such as 2026-11-21; default today")] = None
    days: Annotated[
        int | None,
        Field(ge=0, le=3650, description="context: before and after =3; staleness: unchanged for so long =90"),
    ] = None
    folder: Annotated[Text | None, Field(max_length=1024, description="staleness: and those in it")] = None
    mode: Annotated[
        Literal["overview", "semantic_links"],
        Field(description="note_intelligence: all that is known, or near notes it is not linked with"),
    ] = "overview"
    by: Annotated[PeriodUnit, Field(description="evolution, growth: periods")] = "month"
    periods: Annotated[int, Field(ge=1, le=400, description="growth: how many, up to now")] = 12
    limit: Annotated[int, Field(ge=1, le=200, description="things told at most")] = 20
    max_tokens: MaxTokens = 3000


@dataclass(frozen=True, slots=True)
class InsightsResult:
    """What the action tells, under its own name; ``total``: of how many the list is the beginning."""

    evolution: EntityEvolution | None = None
    stale: list[StaleNote] | None = None
    context: DateContext | None = None
    note: NoteFacts | None = None
    path: str | None = None
    near: list[NearNote] | None = None
    growth: list[GrowthPeriod] | None = None
    change: dict[str, int] | None = None
    total: int | None = None
    truncated: bool = False
    warnings: list[str] = field(default_factory=list)


@tool(
    role=Role.READER,
    preset="full",
    actions=dict.fromkeys(get_args(InsightsAction), LOOKS),
)
async def insights(call: Call, args: InsightsArguments) -> InsightsResult:
    """What time did to this vault. Use evolution to see how a note or name came about, staleness to find notes that are
    relied on but not kept up, context for what was going on around a date, note_intelligence for all that is known of a
    note and what to do for it, growth for figures by day, week or month."""
    found = await _HANDLERS[args.action](call, args)
    late = await warn_if_behind(call.vault)
    return replace(found, warnings=[*found.warnings, *late]) if late else found


def _require_entity(args: InsightsArguments) -> str:
    if args.entity is None:
        raise InvalidArgument("entity", "is needed: a note's path, or any name")
    return args.entity


async def _evolution(call: Call, args: InsightsArguments) -> InsightsResult:
    found = await entity_evolution.read_evolution(call.vault, call.actor, _require_entity(args), args.by, args.limit)
    kept = await token_budget.fit_rows(call.vault, found.happenings, args.max_tokens)
    cut = len(kept) < len(found.happenings) or len(found.happenings) == args.limit
    return InsightsResult(evolution=replace(found, happenings=kept), truncated=cut)


async def _staleness(call: Call, args: InsightsArguments) -> InsightsResult:
    days = STALE_DAYS if args.days is None else args.days
    found, total = await stale_notes.find_stale_notes(
        call.vault, stale_notes.StalenessScope(args.folder, days), args.limit
    )
    kept = await token_budget.fit_rows(call.vault, found, args.max_tokens)
    return InsightsResult(stale=kept, total=total, truncated=len(kept) < total)


async def _context(call: Call, args: InsightsArguments) -> InsightsResult:
    days = AROUND_DAYS if args.days is None else args.days
    when = date_context.to_window(args.date or clock.now()[:10], days)
    found = await date_context.read_date_context(call.vault, call.actor, call.recipient, when, args.limit)
    kept = await token_budget.fit_rows(call.vault, found.items, args.max_tokens)
    total = sum(found.counts.values())
    return InsightsResult(context=replace(found, items=kept), total=total, truncated=len(kept) < total)


async def _note_intelligence(call: Call, args: InsightsArguments) -> InsightsResult:
    if args.mode == "semantic_links":
        path, near, warnings = await note_facts.find_semantic_links(call.vault, _require_entity(args), args.limit)
        kept = await token_budget.fit_rows(call.vault, near, args.max_tokens)
        return InsightsResult(path=path, near=kept, truncated=len(kept) < len(near), warnings=warnings)
    note, warnings = await note_facts.read_note_facts(call.vault, call.actor, _require_entity(args))
    return InsightsResult(note=note, warnings=warnings)


async def _growth(call: Call, args: InsightsArguments) -> InsightsResult:
    found = await vault_growth.read_growth(call.vault, call.actor, args.by, args.periods)
    kept = await token_budget.fit_rows(call.vault, found[::-1], args.max_tokens)
    return InsightsResult(growth=kept[::-1], change=vault_growth.sum_periods(found), truncated=len(kept) < len(found))


_HANDLERS: Mapping[str, Callable[[Call, InsightsArguments], Awaitable[InsightsResult]]] = {
    "evolution": _evolution,
    "staleness": _staleness,
    "context": _context,
    "note_intelligence": _note_intelligence,
    "growth": _growth,
}
