"""Actions of ``links`` for upkeep: broken, missing and wanted links, people's opinions, past events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from server.allowance import store_quota
from server.call import Call
from server.tools._links import (
    LinkDashboard,
    LinksArguments,
    LinksRepaired,
    LinksResult,
    LinkTimeline,
    OpinionHeard,
    StubsListed,
)
from vaults.domain.graph.entities import entity_lookup
from vaults.domain.graph.links import (
    broken_links,
    link_health,
    link_repairs,
    opinions,
    semantic_guesses,
    stubs,
    unlinked_mentions,
)
from vaults.domain.graph.links.broken_links import BrokenLinkPage
from vaults.domain.graph.links.unlinked_mentions import UnlinkedPage
from vaults.domain.notes.read.note_listing import parse_folder
from vaults.domain.paging import cursors, token_budget
from vaults.errors import InvalidArgument
from vaults.graph.link_feedback import link_events
from vaults.graph.link_feedback.link_events import NEWEST, LogPosition

P = TypeVar("P")

STUBS, TIMELINE = "stubs", "timeline"


async def _page(
    call: Call, args: LinksArguments, ask: Callable[[int], Awaitable[P]], rows: Callable[[P], Sequence[object]]
) -> P:
    """A page of as many rows as fit; its cursor is that of the last one shown."""
    found = await ask(args.limit)
    fits = len(await token_budget.fit_rows(call.vault, rows(found), args.max_tokens))
    return found if fits == len(rows(found)) else await ask(fits)


async def _resolve_path(call: Call, ref: str | None) -> str | None:
    return await entity_lookup.require_note_path(call.vault, ref) if ref is not None else None


async def _feedback(call: Call, args: LinksArguments) -> OpinionHeard:
    if args.verdict is None:
        raise InvalidArgument("verdict", "is needed: accepted, rejected or never")
    folder = parse_folder(args.folder) if args.folder is not None else None
    asked = opinions.OpinionRequest(_require_entity(args.entity), args.path, args.verdict, args.term, folder)
    return OpinionHeard(await opinions.record_opinion(call.vault, call.actor, asked))


async def _unsuppress(call: Call, args: LinksArguments) -> OpinionHeard:
    folder = parse_folder(args.folder) or ""
    return OpinionHeard(await opinions.unsuppress(call.vault, call.actor, _require_entity(args.entity), folder))


def _require_entity(entity: str | None) -> str:
    if entity is None:
        raise InvalidArgument("entity", "is needed: the name or path of what is linked to")
    return entity


async def _unlinked(call: Call, args: LinksArguments) -> UnlinkedPage:
    path, entity = await _resolve_path(call, args.path), await _resolve_path(call, args.entity)

    async def ask(limit: int) -> UnlinkedPage:
        wanted = unlinked_mentions.UnlinkedRequest(path, entity, limit, args.cursor)
        return await unlinked_mentions.find_unlinked_mentions(call.vault, wanted)

    return await _page(call, args, ask, lambda found: found.mentions)


async def _validate(call: Call, args: LinksArguments) -> BrokenLinkPage | LinksRepaired:
    path = await _resolve_path(call, args.path)
    if args.fix:
        return await _fix(call, args, path)

    async def ask(limit: int) -> BrokenLinkPage:
        wanted = broken_links.BrokenLinksRequest(path, limit, args.cursor)
        found = await broken_links.find_broken_links(call.vault, wanted)
        return replace(found, links=await semantic_guesses.add_semantic_guesses(call.vault, found.links))

    return await _page(call, args, ask, lambda found: found.links)


async def _fix(call: Call, args: LinksArguments, path: str | None) -> LinksRepaired:
    if not args.dry_run:
        await store_quota(call).check_size()
    to = await _resolve_path(call, args.to)
    asked = link_repairs.LinkRepairRequest(
        path=path, target=args.target, to=to, cursor=args.cursor, dry_run=args.dry_run, session=call.session.id
    )
    repaired = await link_repairs.repair_links(call.vault, call.actor, asked)
    shown = await token_budget.fit_rows(call.vault, repaired.links, args.max_tokens)
    done, total = repaired.done, len(repaired.links)
    return LinksRepaired(
        changed=done.paths,
        change=done.change,
        diff=done.diff,
        links=shown,
        total=total,
        cursor=repaired.cursor,
        truncated=len(shown) < total,
        warnings=done.warnings,
    )


async def _stubs(call: Call, args: LinksArguments) -> StubsListed:
    first = max(0, cursors.decode(args.cursor, STUBS)[1]) if args.cursor else 0

    async def ask(limit: int) -> StubsListed:
        found = await stubs.find_stubs(call.vault, limit, first)
        after = first + len(found.stubs)
        more = after < found.total and bool(found.stubs)
        return StubsListed(found.stubs, found.total, cursors.encode(STUBS, "", after) if more else None, more)

    return await _page(call, args, ask, lambda found: found.stubs)


async def _dashboard(call: Call, args: LinksArguments) -> LinkDashboard:
    del args
    return LinkDashboard(await link_health.read_link_health(call.vault))


async def _timeline(call: Call, args: LinksArguments) -> LinkTimeline:
    path = await _resolve_path(call, args.path)
    keys = await opinions.find_entity_keys(call.vault, args.entity) if args.entity is not None else None
    below = _decode_cursor(args.cursor) if args.cursor else NEWEST

    async def ask(limit: int) -> LinkTimeline:
        read = partial(link_events.read_page, path=path, keys=keys, limit=limit, below=below)
        found = await call.vault.db.read(read)
        cursor = _encode_cursor(found.next) if found.next else None
        return LinkTimeline(found.happenings, cursor, cursor is not None)

    return await _page(call, args, ask, lambda found: found.happenings)


def _encode_cursor(place: LogPosition) -> str:
    return cursors.encode(TIMELINE, f"{place.history}.{place.applications}", place.feedback)


def _decode_cursor(cursor: str) -> LogPosition:
    positions, feedback = cursors.decode(cursor, TIMELINE)
    numbers = str(positions).split(".")
    if len(numbers) != 2 or not all(each.isdecimal() and len(each) < 20 for each in numbers):
        raise InvalidArgument("cursor", "is not one this listing gave", hint="start again without a cursor")
    return LogPosition(min(int(numbers[0]), NEWEST.history), min(int(numbers[1]), NEWEST.history), feedback)


UPKEEP_ACTIONS: Mapping[str, Callable[[Call, LinksArguments], Awaitable[LinksResult]]] = {
    "feedback": _feedback,
    "unlinked": _unlinked,
    "validate": _validate,
    "stubs": _stubs,
    "dashboard": _dashboard,
    "unsuppress": _unsuppress,
    "timeline": _timeline,
}
