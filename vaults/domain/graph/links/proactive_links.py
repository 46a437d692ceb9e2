"""Setting links in idle notes, if the vault's owner enables it: on certain names only, a few notes an hour, each as a
change that can be undone like any other. Once undone, that note is never touched again in this way, and the entity is
trusted less."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.graph.links.autolink_step import ChangeLinks, read_linker, record_all_links
from vaults.domain.graph.links.link_suggestions import SuggestionOptions, suggest_links
from vaults.domain.notes.edit import many_notes
from vaults.domain.notes.edit.many_notes import BulkEdit
from vaults.domain.notes.read import note_lookup
from vaults.domain.notes.read.note_lookup import OpenNote
from vaults.domain.text.plurals import pluralize
from vaults.errors import InvalidArgument, NotFound, StrongroomError, TooLarge
from vaults.files.paths import parent_folder
from vaults.graph.link_feedback import link_applications, link_trust, proactive_queue
from vaults.graph.names.autolinks import AutolinkedText
from vaults.vault import BackgroundJob, Vault

SERVER_ACTOR = Actor(link_trust.SERVER_PRINCIPAL, link_trust.SERVER_PRINCIPAL)
TOOL = "links"

HOUR_S = 3600.0
PAUSE_S = 0.05
"""Seconds between two notes, so that other work goes first."""

MAX_LINKS = 30
"""Max links set in a note at once."""


def is_due(tx: Reader) -> bool:
    """Whether there is a note to link, a link to judge, or a relearning due."""
    return proactive_queue.has_entries(tx) or link_applications.has_pending(tx) or link_trust.needs_relearning(tx)


async def learn_and_link(vault: Vault) -> None:
    """A background job: learn from what became of links, then link idle notes, if enabled."""
    if await vault.db.read(link_trust.needs_relearning):
        await vault.db.write_uncounted(link_trust.relearn)
    more = await vault.db.read(link_applications.has_pending)
    while more:
        more = await vault.db.write_uncounted(link_applications.judge)
        await asyncio.sleep(PAUSE_S)
    if await vault.db.read(proactive_queue.has_entries):
        await link_idle(vault)


LEARN_AND_LINK = BackgroundJob("learn_links", is_due, learn_and_link)


async def link_idle(vault: Vault) -> int:
    """Link notes that are idle long enough, up to the hourly limit; returns how many were changed."""
    if not is_enabled(vault):
        await vault.db.write_uncounted(proactive_queue.clear)
        return 0
    idle, hourly = vault.shared.links.proactive_idle_s, vault.shared.links.proactive_per_hour
    done = 0
    for path, at in await vault.db.read(lambda tx: proactive_queue.read_due(tx, clock.ago(idle), 10 * hourly)):
        if await vault.db.read(lambda tx: link_applications.count_recent(tx, clock.ago(HOUR_S))) >= hourly:
            break
        if await vault.db.write_uncounted(lambda tx, path=path, at=at: proactive_queue.take(tx, path, at)):  # type: ignore[misc]
            done += await _link_note(vault, path, idle)
            await asyncio.sleep(PAUSE_S)
    return done


def is_enabled(vault: Vault) -> bool:
    """Whether this vault may be changed unasked: the setting is on, and writes here need no approval."""
    return vault.shared.links.proactive and vault.entry.write_mode == "auto"


async def _link_note(vault: Vault, path: str, idle: float) -> bool:
    """Link a note taken from the queue; returns whether that changed it. One that was saved meanwhile, or cannot be
    written now, is queued again."""
    try:
        note = await note_lookup.open_note(vault, path)
    except (NotFound, InvalidArgument, TooLarge):
        return False  # gone since, or not text
    if note.path != path or await vault.db.read(lambda tx: bool(link_applications.find_untouchable(tx, [path]))):
        return False
    try:
        if time.time() - note.stamp.mtime_ns / 1e9 < idle:
            await vault.db.write_uncounted(lambda tx: proactive_queue.enqueue(tx, path))
            return False
        found = await _find_sure_links(vault, note)
        return bool(found.linked) and await _write_links(vault, note, found)
    except StrongroomError:
        await vault.db.write_uncounted(lambda tx: proactive_queue.enqueue(tx, path))
        return False


async def _find_sure_links(vault: Vault, note: OpenNote) -> AutolinkedText:
    """The text with links on names that are certain."""
    sure = await suggest_links(
        vault,
        SERVER_ACTOR,
        note.text,
        note.path,
        SuggestionOptions(strictness="conservative", limit=MAX_LINKS, related=0),
    )
    only = frozenset(each.path for each in sure if each.kind == "mention")
    if not only:
        return AutolinkedText(note.text)
    linker = await vault.db.read(lambda tx: read_linker(tx, vault, {parent_folder(note.path)}))
    options = replace(linker.options_for(note.path), only=only, implicit=())
    return await run_in(vault.shared.pool, linker.link_text, note.text, options)


async def _write_links(vault: Vault, note: OpenNote, found: AutolinkedText) -> bool:
    def step(_: str, text: str) -> str:
        return found.text if text == note.text else text

    count = len(found.linked)
    bulk = BulkEdit(TOOL, f"linked {pluralize(count, 'name')} in {note.path}"[:200], dry_run=False)
    done = await many_notes.rewrite_notes(vault, SERVER_ACTOR, [note.path], step, bulk)
    if done.change is None:  # another save came first, which also queues the note again
        return False
    await record_all_links(
        vault, SERVER_ACTOR, ChangeLinks(note.path, done.change, tuple(found.linked)), source="proactive"
    )
    return True
