"""Setting links that were suggested, in one note or in many, as one change that is taken back as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.graph.links import autolink_step
from vaults.domain.graph.links.autolink_step import Linker, Made
from vaults.domain.graph.links.link_suggestions import LONGEST, Ask, suggest
from vaults.domain.memories.memory_model import Actor
from vaults.domain.notes.edit import many_notes
from vaults.domain.notes.edit.many_notes import Bulk, Rewritten
from vaults.domain.notes.read.note_lookup import made
from vaults.errors import InvalidArgument, NotFound, TooLarge
from vaults.files.paths import parent
from vaults.graph.names.autolinks import Autolinked, Chosen, linked_at, opted_out
from vaults.vault import Vault

NOTES = 500
"""Notes one call looks at: each takes some 10 ms."""

LINKS = 200
"""Links set in a note at most."""


@dataclass(frozen=True, slots=True)
class LinkIn:
    """A link that was set, or would be: in the note at ``path``, on ``line`` from 1, on ``term``, to ``target``."""

    path: str
    line: int
    term: str
    target: str


@dataclass(frozen=True, slots=True)
class Applied:
    """What was done, or would be. ``rest``: notes that were not looked at."""

    links: list[LinkIn]
    done: Rewritten
    rest: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """The text a note was read as, and the links it is to get."""

    text: str
    links: list[Chosen]


async def link_notes(vault: Vault, actor: Actor, paths: Sequence[str], bulk: Bulk, ask: Ask | None = None) -> Applied:
    """Set the links that are suggested on names in these notes, the first 500 of them; a note that says ``auto_link:
    false`` is left out. What changes meanwhile stays as it is. Raises what ``rewrite`` raises: then nothing is
    changed."""
    wanted = list(dict.fromkeys(paths))
    plans: dict[str, Plan] = {}
    for path in wanted[:NOTES]:
        plan = await _plan(vault, actor, path, replace(ask or Ask(), limit=LINKS, related=0))
        if plan is not None and plan.links:
            plans[path] = plan
    known = await vault.db.read(lambda tx: autolink_step.linker(tx, vault, {parent(each) for each in plans}))
    linked: dict[str, Autolinked] = {}

    def step(path: str, text: str) -> str:
        linked[path] = _linked(known, path, text, plans)
        return linked[path].text

    done = await many_notes.rewrite(vault, actor, plans, step, bulk)
    if done.change is not None:
        change = done.change
        await autolink_step.keep_all(
            vault, actor, *(Made(each, change, tuple(linked[each].linked)) for each in done.paths)
        )
    links = [LinkIn(path, each.line, each.term, each.target) for path in done.paths for each in linked[path].linked]
    return Applied(links, done, max(0, len(wanted) - NOTES))


async def _plan(vault: Vault, actor: Actor, path: str, ask: Ask) -> Plan | None:
    try:
        read = vault.notes.tree.read
        note = made(path, await run_in(vault.shared.pool, read, path, vault.notes.settings.max_note))
    except (NotFound, InvalidArgument, TooLarge):
        return None  # gone since it was listed, or no text
    if len(note.text) > LONGEST or opted_out(note.text):
        return None
    found = await suggest(vault, actor, note.text, path, ask)
    places = [(each.start, each.end, each.path) for each in found if each.kind == "mention"]
    return Plan(
        note.text, [Chosen(start, end, to) for start, end, to in places if start is not None and end is not None]
    )


def _linked(known: Linker, path: str, text: str, plans: Mapping[str, Plan]) -> Autolinked:
    plan = plans[path]
    return linked_at(text, known.gazetteer, known.wish(path), plan.links) if plan.text == text else Autolinked(text)


def within(tx: Reader, vault: Vault, folder: str) -> list[str]:
    """Notes in a folder and below, by path; '' for all."""
    start = f"{folder}/" if folder else ""
    return sorted(node.path for node in vault.atlas.at(tx).nodes.values() if node.path.startswith(start))
