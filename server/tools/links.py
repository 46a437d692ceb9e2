"""Links a note should have, and those that are not as they should be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from auth.roles import Role
from server.allowance import storer
from server.call import Call
from server.tools._lines import told
from server.tools._links import Links, LinksArguments
from server.tools._links_care import CARE
from server.tools._links_text import told_of
from server.tools._spec import EDITS, tool
from vaults.domain import portions
from vaults.domain.links import applying, suggesting
from vaults.domain.links.applying import LinkIn
from vaults.domain.links.suggesting import Ask, Suggestion
from vaults.domain.notes.finding import folder_of
from vaults.domain.notes.opening import opened
from vaults.domain.notes.rewriting import Bulk
from vaults.domain.wording import many
from vaults.errors import InvalidArgument
from vaults.files.paths import located


def _text(found: Links) -> str:
    return "\n".join([*_said(found), *(f"Warning: {told(each)}." for each in found.warnings)])


def _said(found: Links) -> Iterator[str]:
    if found.suggestions is not None:
        several = found.suggestions
        yield f"{len(several)} of {found.total} links to set, likeliest first:" if several else "No link to suggest."
        yield from (_suggestion(each) for each in several)
        if found.truncated:
            yield "There are more: raise limit or max_tokens."
    if found.applied is not None:
        yield from _applied(found, found.applied)
    yield from told_of(found)


def _applied(found: Links, applied: list[LinkIn]) -> Iterator[str]:
    several = f"{many(found.total or 0, 'link')} in {many(len(found.changed or []), 'note')}"
    if not found.total:
        yield "No link to set."
    elif found.change is None:
        yield f"{several} would be set; call again with dry_run false."
    else:
        yield f"Set {several}; history undo ref={found.change} takes them back."
    yield from (_link_in(each) for each in applied)
    if found.truncated:
        yield "There are more than shown."


def _link_in(each: LinkIn) -> str:
    return f'- {told(each.path)}:{each.line} "{told(each.term, 80)}" → {told(each.target)}'


def _suggestion(each: Suggestion) -> str:
    layers = ", ".join(f"{name} {points:+g}" for name, points in each.layers.items())
    where = f'line {each.line} "{told(each.term or "", 80)}"' if each.kind == "mention" else "related, not named"
    return f"- {where} → {told(each.path)} ({each.confidence:.0%}{f'; {layers}' if layers else ''})"


ROLES: Mapping[str, Role] = {
    "suggest": Role.READER, "apply": Role.WRITER, "feedback": Role.WRITER, "unlinked": Role.READER,
    "validate": Role.READER, "stubs": Role.READER, "dashboard": Role.READER, "unsuppress": Role.WRITER,
    "timeline": Role.READER,
}  # fmt: skip


def _role(arguments: Mapping[str, Any]) -> Role:
    """To look for broken links is a reader's, to set them right a writer's."""
    action = arguments.get("action", "suggest")
    role = ROLES.get(action, Role.READER) if isinstance(action, str) else Role.READER
    return Role.WRITER if action == "validate" and arguments.get("fix", False) is not False else role


@tool(
    role=Role.READER,
    effect=EDITS,
    preset="notes",
    actions=ROLES,
    at_once=frozenset({"feedback", "unsuppress"}),
    role_if=_role,
    writes_if=lambda arguments: _role(arguments) > Role.READER,
    text=_text,
    deed="set links in notes",
)
async def links(call: Call, args: LinksArguments) -> Links:
    """Links notes should have, and those that are not as they should be. Use it after writing, or to tidy up: suggest
    what to link and how sure that is, apply it, validate for broken links (fix sets them right), unlinked for names
    nobody linked, stubs for names without a note, feedback on a suggestion so that the next are better, timeline and
    dashboard for how links are doing. Changes are taken back by history."""
    _check_scope(args)
    return await ACTIONS[args.action](call, args)


def _check_scope(args: LinksArguments) -> None:
    """Refuse what would narrow a call and does not, lest more is written than was meant."""
    if args.folder is not None and args.action not in ("apply", "feedback", "unsuppress"):
        raise InvalidArgument("folder", f"does not narrow {args.action}: path does, to one note")
    if "limit" in args.model_fields_set and (args.action == "apply" or args.fix):
        raise InvalidArgument("limit", "does not narrow what is set: path does, and a folder for apply")


async def _suggest(call: Call, args: LinksArguments) -> Links:
    if args.path is None and args.text is None:
        raise InvalidArgument("path", "is needed: the note, or a text instead")
    ask = Ask(args.strictness, args.limit)
    warnings: list[str] = []
    text, source = args.text or "", located(args.path) if args.path else ""
    if args.text is None:
        note = await opened(call.vault, args.path or "")
        text, source, warnings = note.text, note.path, note.warnings
    found = await suggesting.suggested(call.vault, call.actor, text, source, ask)
    several = found.suggestions if args.detail else [replace(each, layers={}) for each in found.suggestions]
    fits = (
        await portions.fitting(call.vault, [_suggestion(each) for each in several], args.max_tokens) if several else 0
    )
    return Links(several[:fits], total=found.total, truncated=fits < found.total, warnings=[*warnings, *found.warnings])


async def _apply(call: Call, args: LinksArguments) -> Links:
    vault = call.vault
    if (args.path is None) == (args.folder is None):
        raise InvalidArgument("path", "or folder is needed: the note to link, or the notes; folder / is all of them")
    if args.path is not None:
        paths = [(await opened(vault, args.path)).path]
    else:
        paths = await vault.db.read(partial(applying.within, vault=vault, folder=folder_of(args.folder)))
    await storer(call).check_size()
    bulk = Bulk("links", f"linked names in {args.path or args.folder}"[:200], args.dry_run, call.session.id)
    done = await applying.link_notes(vault, call.actor, paths, bulk, Ask(args.strictness))
    fits = await portions.fitting(vault, [_link_in(each) for each in done.links], args.max_tokens) if done.links else 0
    rest = [f"{done.rest} more notes were not looked at: go on by smaller folders"] if done.rest else []
    return Links(
        applied=done.links[:fits], changed=done.done.paths, change=done.done.change, diff=done.done.diff,
        total=len(done.links), truncated=fits < len(done.links), warnings=[*done.done.warnings, *rest],
    )  # fmt: skip


ACTIONS: Mapping[str, Callable[[Call, LinksArguments], Awaitable[Links]]] = {
    "suggest": _suggest,
    "apply": _apply,
    **CARE,
}
