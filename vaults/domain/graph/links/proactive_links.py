"""Links set in notes that nobody works on, where the vault's owner wants that: on names that are beyond doubt, a few
notes an hour, each as a change that is taken back like any other. Who takes one back is not asked again: that note is
never touched so any more, and the entity counts for less.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.graph.links.autolink_step import Made, keep_all, linker
from vaults.domain.graph.links.link_suggestions import Ask, suggest
from vaults.domain.memories.memory_model import Actor
from vaults.domain.notes.edit import many_notes
from vaults.domain.notes.edit.many_notes import Bulk
from vaults.domain.notes.read import note_lookup
from vaults.domain.notes.read.note_lookup import Open
from vaults.domain.text.plurals import many
from vaults.errors import InvalidArgument, NotFound, StrongroomError, TooLarge
from vaults.files.paths import parent
from vaults.graph.link_feedback import link_applications, link_trust, proactive_queue
from vaults.graph.names.autolinks import Autolinked
from vaults.vault import Chore, Vault

ME = Actor(link_trust.WHO, link_trust.WHO)
TOOL = "links"

HOUR_S = 3600.0
PAUSE_S = 0.05
"""Seconds between two notes: everybody else goes first."""

MOST = 30
"""Links set in a note at once."""


def owed(tx: Reader) -> bool:
    """Whether there is a note to link, a link to judge, or everything learned to be worked out anew."""
    return proactive_queue.owed(tx) or link_applications.owed(tx) or link_trust.owed(tx)


async def learn(vault: Vault) -> None:
    """A chore: learn from what became of links, then link notes that were left alone, if that is wanted."""
    if await vault.db.read(link_trust.owed):
        await vault.db.write_aside(link_trust.relearn)
    more = await vault.db.read(link_applications.owed)
    while more:
        more = await vault.db.write_aside(link_applications.judge)
        await asyncio.sleep(PAUSE_S)
    if await vault.db.read(proactive_queue.owed):
        await link_idle(vault)


LEARN = Chore(owed, learn)


async def link_idle(vault: Vault) -> int:
    """Link notes whose time has come, as many as the hour still allows; how many were changed."""
    if not is_wanted(vault):
        await vault.db.write_aside(proactive_queue.clear)
        return 0
    idle, hourly = vault.shared.links.proactive_idle_s, vault.shared.links.proactive_per_hour
    done = 0
    for path, at in await vault.db.read(lambda tx: proactive_queue.due(tx, clock.ago(idle), 10 * hourly)):
        if await vault.db.read(lambda tx: link_applications.lately(tx, clock.ago(HOUR_S))) >= hourly:
            break
        if await vault.db.write_aside(lambda tx, path=path, at=at: proactive_queue.take(tx, path, at)):  # type: ignore[misc]
            done += await _linked(vault, path, idle)
            await asyncio.sleep(PAUSE_S)
    return done


def is_wanted(vault: Vault) -> bool:
    """Whether this vault may be changed unasked: it was switched on, and nobody has to agree to writes here."""
    return vault.shared.links.proactive and vault.entry.write_mode == "auto"


async def _linked(vault: Vault, path: str, idle: float) -> bool:
    """Link a note that was taken out of the queue; whether that changed it. One that was saved meanwhile, or cannot be
    written now, waits again."""
    try:
        note = await note_lookup.opened(vault, path)
    except (NotFound, InvalidArgument, TooLarge):
        return False  # gone since, or no text
    if note.path != path or await vault.db.read(lambda tx: bool(link_applications.untouchable(tx, [path]))):
        return False
    try:
        if time.time() - note.stamp.mtime_ns / 1e9 < idle:
            await vault.db.write_aside(lambda tx: proactive_queue.wait(tx, path))
            return False
        found = await _found(vault, note)
        return bool(found.linked) and await _write(vault, note, found)
    except StrongroomError:
        await vault.db.write_aside(lambda tx: proactive_queue.wait(tx, path))
        return False


async def _found(vault: Vault, note: Open) -> Autolinked:
    """The text with links that are beyond doubt."""
    sure = await suggest(vault, ME, note.text, note.path, Ask(strictness="conservative", limit=MOST, related=0))
    only = frozenset(each.path for each in sure if each.kind == "mention")
    if not only:
        return Autolinked(note.text)
    known = await vault.db.read(lambda tx: linker(tx, vault, {parent(note.path)}))
    wish = replace(known.wish(note.path), only=only, implicit=())
    return await run_in(vault.shared.pool, known.linked, note.text, wish)


async def _write(vault: Vault, note: Open, found: Autolinked) -> bool:
    def step(_: str, text: str) -> str:
        return found.text if text == note.text else text

    count = len(found.linked)
    bulk = Bulk(TOOL, f"linked {many(count, 'name')} in {note.path}"[:200], dry_run=False)
    done = await many_notes.rewrite(vault, ME, [note.path], step, bulk)
    if done.change is None:  # saved by somebody in this very moment, which has it wait again
        return False
    await keep_all(vault, ME, Made(note.path, done.change, tuple(found.linked)), source="proactive")
    return True
