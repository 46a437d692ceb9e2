"""Actions of ``links`` that look after links: what is broken, not linked or wanted, what people said, what happened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from server.allowance import storer
from server.call import Call
from server.tools._links import Links, LinksArguments
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
from vaults.domain.notes.read.note_listing import folder_of
from vaults.domain.paging import cursors, token_budget
from vaults.errors import InvalidArgument
from vaults.graph.link_feedback import link_events
from vaults.graph.link_feedback.link_events import NEWEST, Place

STUBS, TIMELINE = "stubs", "timeline"


async def _paged(call: Call, args: LinksArguments, ask: Callable[[int], Awaitable[Links]]) -> Links:
    """A page of as many as fit; its cursor is that of the last one shown."""
    found = await ask(args.limit)
    several = _listed(found)
    fits = len(await token_budget.fitted(call.vault, several, args.max_tokens))
    if fits < len(several):
        found = await ask(fits)
    return replace(found, truncated=found.cursor is not None)


def _listed(found: Links) -> Sequence[Any]:
    return found.links or found.mentions or found.stubs or found.happenings or []


async def _path(call: Call, said: str | None) -> str | None:
    return await entity_lookup.path_of(call.vault, said) if said is not None else None


async def _feedback(call: Call, args: LinksArguments) -> Links:
    if args.verdict is None:
        raise InvalidArgument("verdict", "is needed: accepted, rejected or never")
    folder = folder_of(args.folder) if args.folder is not None else None
    asked = opinions.Asked(_needed(args.entity), args.path, args.verdict, args.term, folder)
    return Links(opinion=await opinions.say(call.vault, call.actor, asked))


async def _unsuppress(call: Call, args: LinksArguments) -> Links:
    folder = folder_of(args.folder) or ""
    return Links(opinion=await opinions.forgive(call.vault, call.actor, _needed(args.entity), folder))


def _needed(entity: str | None) -> str:
    if entity is None:
        raise InvalidArgument("entity", "is needed: the name or path of what is linked to")
    return entity


async def _unlinked(call: Call, args: LinksArguments) -> Links:
    path, entity = await _path(call, args.path), await _path(call, args.entity)

    async def ask(limit: int) -> Links:
        found = await unlinked_mentions.unlinked(call.vault, unlinked_mentions.Asked(path, entity, limit, args.cursor))
        return Links(mentions=found.mentions, cursor=found.cursor)

    return await _paged(call, args, ask)


async def _validate(call: Call, args: LinksArguments) -> Links:
    path = await _path(call, args.path)
    if args.fix:
        return await _fix(call, args, path)

    async def ask(limit: int) -> Links:
        found = await broken_links.broken(call.vault, broken_links.Asked(path, limit, args.cursor))
        return Links(links=await semantic_guesses.guessed(call.vault, found.links), cursor=found.cursor)

    return await _paged(call, args, ask)


async def _fix(call: Call, args: LinksArguments, path: str | None) -> Links:
    if not args.dry_run:
        await storer(call).check_size()
    to = await _path(call, args.to)
    asked = link_repairs.Asked(path, args.target, to, args.cursor, args.dry_run, call.session.id)
    mended = await link_repairs.mend(call.vault, call.actor, asked)
    shown = await token_budget.fitted(call.vault, mended.links, args.max_tokens)
    done = mended.done
    return Links(
        links=shown, changed=done.paths, change=done.change, diff=done.diff, total=len(mended.links),
        cursor=mended.cursor, truncated=len(shown) < len(mended.links), warnings=done.warnings,
    )  # fmt: skip


async def _stubs(call: Call, args: LinksArguments) -> Links:
    first = max(0, cursors.read(args.cursor, STUBS)[1]) if args.cursor else 0

    async def ask(limit: int) -> Links:
        found = await stubs.wanted(call.vault, limit, first)
        after = first + len(found.stubs)
        more = after < found.total and found.stubs
        return Links(stubs=found.stubs, total=found.total, cursor=cursors.written(STUBS, "", after) if more else None)

    return await _paged(call, args, ask)


async def _dashboard(call: Call, args: LinksArguments) -> Links:
    del args
    return Links(health=await link_health.health(call.vault))


async def _timeline(call: Call, args: LinksArguments) -> Links:
    path = await _path(call, args.path)
    keys = await opinions.keys_of(call.vault, args.entity) if args.entity is not None else None
    below = _place(args.cursor) if args.cursor else NEWEST

    async def ask(limit: int) -> Links:
        read = partial(link_events.page, path=path, keys=keys, limit=limit, below=below)
        found = await call.vault.db.read(read)
        return Links(happenings=found.happenings, cursor=_cursor(found.next) if found.next else None)

    return await _paged(call, args, ask)


def _cursor(place: Place) -> str:
    return cursors.written(TIMELINE, f"{place.history}.{place.applications}", place.feedback)


def _place(cursor: str) -> Place:
    said, feedback = cursors.read(cursor, TIMELINE)
    numbers = str(said).split(".")
    if len(numbers) != 2 or not all(each.isdecimal() and len(each) < 20 for each in numbers):
        raise InvalidArgument("cursor", "is not one this listing gave", hint="start again without a cursor")
    return Place(min(int(numbers[0]), NEWEST.history), min(int(numbers[1]), NEWEST.history), feedback)


CARE: Mapping[str, Callable[[Call, LinksArguments], Awaitable[Links]]] = {
    "feedback": _feedback,
    "unlinked": _unlinked,
    "validate": _validate,
    "stubs": _stubs,
    "dashboard": _dashboard,
    "unsuppress": _unsuppress,
    "timeline": _timeline,
}
