"""The one way a tool changes files: journal, files, rows, in this order, as one.

1. The journal says what is about to be done, with the versions before and after (durable), while the new bytes are
   written and synced under hidden names.
2. The files are put in place, each by one rename. One that is not what it was when it was read stops the change, and
   those before it are taken back.
3. Rows and passages follow, and the journal says done: now it is found, and the caller is answered.

A kill after 1 is carried through when the vault is next opened (``recovery``); a kill before it changed nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from vaults.context import run_in
from vaults.db.sql import Writer
from vaults.domain.memory import Actor
from vaults.domain.notes import catalogue, intake, journal, lateness, placing
from vaults.domain.notes.intake import Intake
from vaults.domain.notes.journal import Change, FileChange
from vaults.domain.notes.placing import Placed
from vaults.domain.notes.reconcile import model_of
from vaults.files.tree import Content, Stamp
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class Committed:
    """A change that was made. ``etags``: of each file that is there now, by path."""

    id: str
    seq: int
    etags: dict[str, str]


async def commit(vault: Vault, actor: Actor, change: Change) -> Committed:
    """Make a change. The caller holds ``vault.notes.writing()`` since before it read the files. Raises ``Conflict``
    (a file is not what was read), ``AlreadyExists``, ``StorageFull``, ``ReadOnly``: then nothing is changed."""
    vault.check_writable()
    # Once begun it is carried through, whoever stops waiting, and nobody else writes before it is.
    task = asyncio.create_task(_commit(vault, actor, change))
    try:
        return await asyncio.shield(task)
    finally:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait({task})


async def _commit(vault: Vault, actor: Actor, change: Change) -> Committed:
    tree, pool = vault.notes.tree, vault.shared.pool
    first = change.files[: placing.CHUNK]
    preparing = asyncio.create_task(run_in(pool, placing.prepared, tree, first))
    try:
        versions = await run_in(pool, journal.packed, change)
        seq, identity = await vault.db.write(lambda tx: journal.begin(tx, actor, change, versions))
    except BaseException:
        await asyncio.gather(preparing, return_exceptions=True)
        if not preparing.cancelled() and preparing.exception() is None:
            for step in preparing.result():
                step.discard()
        raise
    placed = Placed(tree)
    try:
        steps = await preparing
        await run_in(pool, placed.all, change.files, steps)
        readings = await run_in(pool, _readings, placed.done)
        await vault.db.write(lambda tx: _record(vault, tx, seq, change, readings))
    except BaseException:
        await run_in(pool, placed.take_back)
        await vault.db.write(lambda tx: journal.fail(tx, seq))
        raise
    lateness.keep(vault)
    vault.nudge()
    vault.shared.heard(vault.name, [path for each in change.files for path in (each.path, each.to) if path])
    return Committed(identity, seq, {taken.path: intake.etag_of(taken.hash) for taken in readings})


def _readings(done: Sequence[tuple[FileChange, Stamp]]) -> list[Intake]:
    """The files of a change as the indexes take them, without reading them once more."""
    now = time.time_ns()
    return [
        intake.taken(each.target, Content(each.after, stamp), now, whole=len(each.after) <= intake.LONG)
        for each, stamp in done
        if each.after is not None
    ]


def _record(vault: Vault, tx: Writer, seq: int, change: Change, readings: Sequence[Intake]) -> None:
    """Let rows and journal say what was done."""
    index(vault, tx, change.files, readings)
    journal.finish(tx, seq, git_owed=vault.notes.settings.history != "off")
    journal.prune(tx, vault.notes.settings)


def index(vault: Vault, tx: Writer, files: Sequence[FileChange], readings: Sequence[Intake]) -> None:
    """Bring the rows of some files up to date. A moved note keeps its number, and so its passages and vectors."""
    model, by_path = model_of(vault, tx), {taken.path: taken for taken in readings}
    for each in files:
        held = next(iter(catalogue.known(tx, [each.path])), None)
        there = next(iter(catalogue.known(tx, [each.target])), None) if each.to else held
        taken = by_path.get(each.target)
        if taken is None:
            catalogue.drop(tx, [held.seq] if held else [])
            continue
        if each.to and held and there and there.seq != held.seq:  # the watcher was quicker
            catalogue.drop(tx, [there.seq])
            there = None
        number = there or held
        catalogue.put(tx, taken, model, vault.shared.index.passage_tokens, number.seq if number else None)
