"""Links a note should have, and those that are not as they should be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial

from auth.roles import Role
from server.allowance import store_quota
from server.call import Call
from server.tool_spec import EDITS, LOOKS, Action, tool
from server.tools._links import LinksArguments, LinksResult, LinksSet, links_head
from server.tools._links_upkeep import UPKEEP_ACTIONS
from vaults.domain.graph.links import bulk_links, link_suggestions
from vaults.domain.graph.links.link_suggestions import LinkSuggestions, SuggestionOptions
from vaults.domain.notes.edit.many_notes import BulkEdit
from vaults.domain.notes.read.note_listing import parse_folder
from vaults.domain.notes.read.note_lookup import open_note
from vaults.domain.paging import token_budget
from vaults.errors import InvalidArgument
from vaults.files.paths import normalize_path

WRITING = Action(Role.WRITER, "set links in notes")
AT_ONCE = replace(WRITING, dry_run=False)


@tool(
    role=Role.READER,
    effect=EDITS,
    preset="notes",
    head=links_head,
    actions={
        "suggest": LOOKS,
        "apply": WRITING,
        "feedback": AT_ONCE,
        "unlinked": LOOKS,
        "validate": replace(LOOKS, instead={("fix", True): WRITING}),
        "stubs": LOOKS,
        "dashboard": LOOKS,
        "unsuppress": AT_ONCE,
        "timeline": LOOKS,
    },
)
async def links(call: Call, args: LinksArguments) -> LinksResult:
    """Links notes should have, and those that are not as they should be. Use it after writing, or to tidy up: suggest
    what to link and how sure that is, apply it, validate for broken links (fix sets them right), unlinked for names
    nobody linked, stubs for names without a note, feedback on a suggestion so that the next are better, timeline and
    dashboard for how links are doing. Changes are taken back by history."""
    _check_scope(args)
    return await _HANDLERS[args.action](call, args)


def _check_scope(args: LinksArguments) -> None:
    """Refuse what would narrow a call and does not, lest more is written than was meant."""
    if args.folder is not None and args.action not in ("apply", "feedback", "unsuppress"):
        raise InvalidArgument("folder", f"does not narrow {args.action}: path does, to one note")
    if "limit" in args.model_fields_set and (args.action == "apply" or args.fix):
        raise InvalidArgument("limit", "does not narrow what is set: path does, and a folder for apply")


async def _suggest(call: Call, args: LinksArguments) -> LinkSuggestions:
    if args.path is None and args.text is None:
        raise InvalidArgument("path", "is needed: the note, or a text instead")
    ask = SuggestionOptions(args.strictness, args.limit)
    warnings: list[str] = []
    text, source = args.text or "", normalize_path(args.path) if args.path else ""
    if args.text is None:
        note = await open_note(call.vault, args.path or "")
        text, source, warnings = note.text, note.path, note.warnings
    found = await link_suggestions.suggest_with_total(call.vault, call.actor, text, source, ask)
    several = found.suggestions if args.detail else [replace(each, layers={}) for each in found.suggestions]
    shown = await token_budget.fit_rows(call.vault, several, args.max_tokens)
    return replace(found, suggestions=shown, warnings=[*warnings, *found.warnings])


async def _apply(call: Call, args: LinksArguments) -> LinksSet:
    vault = call.vault
    if (args.path is None) == (args.folder is None):
        raise InvalidArgument("path", "or folder is needed: the note to link, or the notes; folder / is all of them")
    if args.path is not None:
        paths = [(await open_note(vault, args.path)).path]
    else:
        paths = await vault.db.read(
            partial(bulk_links.list_paths_within, vault=vault, folder=parse_folder(args.folder))
        )
    await store_quota(call).check_size()
    bulk = BulkEdit("links", f"linked names in {args.path or args.folder}"[:200], args.dry_run, call.session.id)
    done = await bulk_links.link_notes(vault, call.actor, paths, bulk, SuggestionOptions(args.strictness))
    shown = await token_budget.fit_rows(vault, done.links, args.max_tokens)
    rest = [f"{done.rest} more notes were not looked at: go on by smaller folders"] if done.rest else []
    edit, total = done.done, len(done.links)
    return LinksSet(
        applied=shown,
        changed=edit.paths,
        change=edit.change,
        diff=edit.diff,
        total=total,
        truncated=len(shown) < total,
        warnings=[*edit.warnings, *rest],
    )


_HANDLERS: Mapping[str, Callable[[Call, LinksArguments], Awaitable[LinksResult]]] = {
    "suggest": _suggest,
    "apply": _apply,
    **UPKEEP_ACTIONS,
}
