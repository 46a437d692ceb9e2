"""Setting suggested links, in one note or in many, as one change that is undone as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.graph.links import autolink_step
from vaults.domain.graph.links.autolink_step import ChangeLinks, Linker
from vaults.domain.graph.links.link_suggestions import MAX_CHARACTERS, SuggestionOptions, suggest_links
from vaults.domain.notes.edit import many_notes
from vaults.domain.notes.edit.many_notes import BulkEdit, BulkEditResult
from vaults.domain.notes.read.note_lookup import to_open_note
from vaults.errors import InvalidArgument, NotFound, TooLarge
from vaults.files.paths import parent_folder
from vaults.graph.names.autolinks import AutolinkedText, ChosenLink, add_chosen_links, is_opted_out
from vaults.vault import Vault

MAX_NOTES = 500
"""Max notes one call processes: each takes some 10 ms."""

MAX_LINKS = 200
"""Max links set in one note."""


@dataclass(frozen=True, slots=True)
class AppliedLink:
    """A link that was set, or would be: in the note at ``path``, on ``line`` from 1, on ``term``, to ``target``."""

    path: str
    line: int
    term: str
    target: str


@dataclass(frozen=True, slots=True)
class AppliedLinks:
    """What was done, or would be. ``rest``: number of notes beyond ``MAX_NOTES``."""

    links: list[AppliedLink]
    done: BulkEditResult
    rest: int = 0


@dataclass(frozen=True, slots=True)
class NoteLinkPlan:
    """A note's text as read, and the links to set in it."""

    text: str
    links: list[ChosenLink]


async def link_notes(
    vault: Vault, actor: Actor, paths: Sequence[str], bulk: BulkEdit, options: SuggestionOptions | None = None
) -> AppliedLinks:
    """Set the suggested links on names in these notes, up to ``MAX_NOTES``; a note with ``auto_link: false`` is left
    out, and one that changes meanwhile stays as it is. Raises the errors of ``rewrite_notes``: then nothing is
    changed."""
    wanted = list(dict.fromkeys(paths))
    plans: dict[str, NoteLinkPlan] = {}
    for path in wanted[:MAX_NOTES]:
        plan = await _plan_links(
            vault, actor, path, replace(options or SuggestionOptions(), limit=MAX_LINKS, related=0)
        )
        if plan is not None and plan.links:
            plans[path] = plan
    linker = await vault.db.read(
        lambda tx: autolink_step.read_linker(tx, vault, {parent_folder(each) for each in plans})
    )
    linked: dict[str, AutolinkedText] = {}

    def step(path: str, text: str) -> str:
        linked[path] = _add_planned_links(linker, path, text, plans)
        return linked[path].text

    done = await many_notes.rewrite_notes(vault, actor, plans, step, bulk)
    if done.change is not None:
        change = done.change
        await autolink_step.record_all_links(
            vault, actor, *(ChangeLinks(each, change, tuple(linked[each].linked)) for each in done.paths)
        )
    links = [
        AppliedLink(path, each.line, each.term, each.target) for path in done.paths for each in linked[path].linked
    ]
    return AppliedLinks(links, done, max(0, len(wanted) - MAX_NOTES))


async def _plan_links(vault: Vault, actor: Actor, path: str, options: SuggestionOptions) -> NoteLinkPlan | None:
    try:
        read = vault.notes.tree.read
        note = to_open_note(path, await run_in(vault.shared.pool, read, path, vault.notes.settings.max_note))
    except (NotFound, InvalidArgument, TooLarge):
        return None  # gone since it was listed, or not text
    if len(note.text) > MAX_CHARACTERS or is_opted_out(note.text):
        return None
    found = await suggest_links(vault, actor, note.text, path, options)
    places = [(each.start, each.end, each.path) for each in found if each.kind == "mention"]
    return NoteLinkPlan(
        note.text, [ChosenLink(start, end, to) for start, end, to in places if start is not None and end is not None]
    )


def _add_planned_links(linker: Linker, path: str, text: str, plans: Mapping[str, NoteLinkPlan]) -> AutolinkedText:
    plan = plans[path]
    return (
        add_chosen_links(text, linker.gazetteer, linker.options_for(path), plan.links)
        if plan.text == text
        else AutolinkedText(text)
    )


def list_paths_within(tx: Reader, vault: Vault, folder: str) -> list[str]:
    """Sorted paths of the notes in a folder or below; '' for all."""
    start = f"{folder}/" if folder else ""
    return sorted(node.path for node in vault.graph_cache.at(tx).nodes.values() if node.path.startswith(start))
