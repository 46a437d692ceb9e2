"""What became of things, what nobody looked after, what was going on at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from pydantic import Field

from auth.roles import Role
from server.call import Call
from server.tools._lines import told
from server.tools._spec import READS, Arguments, MaxTokens, tool
from vaults import clock
from vaults.domain import portions
from vaults.domain.insights import ageing, around, evolving, growing, knowing
from vaults.domain.insights.ageing import Stale
from vaults.domain.insights.around import Found
from vaults.domain.insights.evolving import Evolution
from vaults.domain.insights.growing import Period
from vaults.domain.insights.knowing import Near, NoteFacts
from vaults.domain.insights.periods import By
from vaults.domain.memory import Label, Text
from vaults.domain.notes.finding import lag
from vaults.domain.wording import many
from vaults.errors import InvalidArgument

Action = Literal["evolution", "staleness", "context", "note_intelligence", "growth"]

AROUND_DAYS, STALE_DAYS = 3, 90
MEMORIES = ("memory", "memories")


class InsightsArguments(Arguments):
    action: Annotated[Action, Field(description="what to look at")] = "growth"
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
    by: Annotated[By, Field(description="evolution, growth: periods")] = "month"
    periods: Annotated[int, Field(ge=1, le=400, description="growth: how many, up to now")] = 12
    limit: Annotated[int, Field(ge=1, le=200, description="things told at most")] = 20
    max_tokens: MaxTokens = 3000


@dataclass(frozen=True, slots=True)
class Insights:
    """What the action tells, under its own name; ``total``: of how many the list is the beginning."""

    evolution: Evolution | None = None
    stale: list[Stale] | None = None
    context: Found | None = None
    note: NoteFacts | None = None
    path: str | None = None
    near: list[Near] | None = None
    growth: list[Period] | None = None
    change: dict[str, int] | None = None
    total: int | None = None
    truncated: bool = False
    warnings: list[str] = field(default_factory=list)


def _text(found: Insights) -> str:
    lines = [*_told(found), *(f"Warning: {told(each)}." for each in found.warnings)]
    return "\n".join([*lines, *(["There is more: raise limit or max_tokens."] if found.truncated else [])])


def _told(found: Insights) -> list[str]:
    if found.evolution is not None:
        return _evolution_text(found.evolution)
    if found.context is not None:
        return _context_text(found.context)
    return _note_text(found.note) if found.note is not None else _list_text(found)


def _evolution_text(found: Evolution) -> list[str]:
    where = f" ({told(found.path)})" if found.path else ""
    since = f", since {found.created_at[:10]}" if found.created_at else ""
    changed = f", changed {many(found.edits, 'time')}, last {found.modified_at[:10]}" if found.modified_at else ""
    counts = f"{many(found.linked_from, 'link')} to it, {many(found.memories, *MEMORIES)}"
    head = f'"{told(found.name)}"{where}{since}{changed}; {counts}.'
    by = [f"Changed by {', '.join(f'{told(who)} {count}' for who, count in found.by.items())}."] if found.by else []
    spans = [
        f"- {each.period}: {many(each.mentions, 'mention')}, {many(each.linked, 'link')} came, {each.unlinked} went,"
        f" {many(each.changes, 'change')}"
        for each in found.spans
    ]
    return [
        head,
        *by,
        *spans,
        *(_event(each.at, each.what, each.ref, each.said, each.who) for each in found.happenings),
    ]


def _event(at: str, what: str, ref: str, said: str | None, who: str | None) -> str:
    words = f": {told(said, 160)}" if said else ""
    return f"- {at[:10]} {what} {told(ref)}{words}{f' (by {told(who)})' if who else ''}"


def _context_text(found: Found) -> list[str]:
    counts = ", ".join(f"{count} {what}" for what, count in found.counts.items()) or "nothing"
    return [
        f"{found.first} to {found.last}: {counts}.",
        *(_event(each.at, each.what, each.ref, each.title, each.who) for each in found.items),
    ]


def _note_text(note: NoteFacts) -> list[str]:
    kind = f" [{told(note.category)}]" if note.category else ""
    lines = [
        f'"{told(note.title)}" ({told(note.path)}){kind}: {many(note.words, "word")}, {many(note.sections, "section")},'
        f" changed {note.modified_at[:10]}, {many(note.edits, 'edit')} seen.",
        f"Links: {many(note.links_in, 'note')} in, {note.links_out} out, {len(note.broken)} broken; hub {note.hub:g};"
        f" {many(note.memories, *MEMORIES)}. Tasks: {note.tasks_open} open, {note.tasks_overdue} overdue.",
    ]
    lines += [f"Like {told(each.path)} ({each.score:g})" for each in note.similar]
    lines += [f"Unlike its kind: {told(f'{each.field or each.reason}: {each.reason}')}" for each in note.missing]
    return [*lines, *(f"To do: {each}" for each in note.advice)]


def _list_text(found: Insights) -> list[str]:
    if found.stale is not None:
        lines = [f"- {told(each.path)} ({each.score:g}): {'; '.join(each.because)}" for each in found.stale]
        return [f"{len(lines)} of {found.total} notes that are relied on and were not changed for long:", *lines]
    if found.near is not None:
        lines = [f"- {told(each.path)} ({each.score:g}, {each.shared} neighbours shared)" for each in found.near]
        return [f"Near {told(found.path or '')} in meaning and not linked:" if lines else "Nothing near it.", *lines]
    lines = [
        f"- {each.period}: {many(each.notes, 'note')}, {many(each.memories, *MEMORIES)}, {many(each.edits, 'change')},"
        f" links +{each.links_added} −{each.links_removed}"
        + (f"; then {many(each.totals['notes'], 'note')}, {many(each.totals['links'], 'link')}" if each.totals else "")
        for each in found.growth or ()
    ]
    return ["What came (UTC):", *lines]


@tool(
    role=Role.READER,
    effect=READS,
    preset="full",
    text=_text,
    actions=dict.fromkeys(("evolution", "staleness", "context", "note_intelligence", "growth"), Role.READER),
)
async def insights(call: Call, args: InsightsArguments) -> Insights:
    """What time did to this vault. Use evolution to see how a note or name came about, staleness to find notes that are
    relied on but not kept up, context for what was going on around a date, note_intelligence for all that is known of a
    note and what to do for it, growth for figures by day, week or month."""
    found = await _ACTIONS[args.action](call, args)
    late = await lag(call.vault)
    return replace(found, warnings=[*found.warnings, *late]) if late else found


def _entity(args: InsightsArguments) -> str:
    if args.entity is None:
        raise InvalidArgument("entity", "is needed: a note's path, or any name")
    return args.entity


async def _evolution(call: Call, args: InsightsArguments) -> Insights:
    found = await evolving.evolution(call.vault, call.actor, _entity(args), args.by, args.limit)
    kept = await portions.fitted(call.vault, found.happenings, args.max_tokens)
    cut = len(kept) < len(found.happenings) or len(found.happenings) == args.limit
    return Insights(evolution=replace(found, happenings=kept), truncated=cut)


async def _staleness(call: Call, args: InsightsArguments) -> Insights:
    days = STALE_DAYS if args.days is None else args.days
    found, total = await ageing.staleness(call.vault, ageing.Scope(args.folder, days), args.limit)
    kept = await portions.fitted(call.vault, found, args.max_tokens)
    return Insights(stale=kept, total=total, truncated=len(kept) < total)


async def _context(call: Call, args: InsightsArguments) -> Insights:
    days = AROUND_DAYS if args.days is None else args.days
    when = around.window(args.date or clock.now()[:10], days)
    found = await around.around(call.vault, call.actor, call.taker, when, args.limit)
    kept = await portions.fitted(call.vault, found.items, args.max_tokens)
    total = sum(found.counts.values())
    return Insights(context=replace(found, items=kept), total=total, truncated=len(kept) < total)


async def _note_intelligence(call: Call, args: InsightsArguments) -> Insights:
    if args.mode == "semantic_links":
        path, near, warnings = await knowing.semantic_links(call.vault, _entity(args), args.limit)
        kept = await portions.fitted(call.vault, near, args.max_tokens)
        return Insights(path=path, near=kept, truncated=len(kept) < len(near), warnings=warnings)
    note, warnings = await knowing.note_facts(call.vault, call.actor, _entity(args))
    return Insights(note=note, warnings=warnings)


async def _growth(call: Call, args: InsightsArguments) -> Insights:
    found = await growing.growth(call.vault, call.actor, args.by, args.periods)
    kept = await portions.fitted(call.vault, found[::-1], args.max_tokens)
    return Insights(growth=kept[::-1], change=growing.change(found), truncated=len(kept) < len(found))


_ACTIONS: Mapping[str, Callable[[Call, InsightsArguments], Awaitable[Insights]]] = {
    "evolution": _evolution,
    "staleness": _staleness,
    "context": _context,
    "note_intelligence": _note_intelligence,
    "growth": _growth,
}
