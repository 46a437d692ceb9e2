"""Rebuilding everything derived from notes, while they go on being found and changed.

Each note's rows are deleted and written again in one transaction, so at every moment it is found as it was or as it is.
Its number stays. The sync loop, here or in another process, keeps running: what a tool or another program writes after
a file was read here wins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from functools import partial

from vaults.context import run_in
from vaults.db.sql import Writer
from vaults.domain.notes.index import file_reader, note_rows, reader_pool, reconciliation
from vaults.domain.notes.index.extraction import KIND, NoteExtract
from vaults.domain.notes.sync import readiness
from vaults.errors import VaultUnavailable
from vaults.index import passages
from vaults.index.passage_updates import PassageUpdates
from vaults.vault import Vault

AGAIN_S = 2.0
"""Seconds until notes of which most suddenly vanished are looked for again."""

OnNotesRebuilt = Callable[[int, int], None]


async def rebuild_index(vault: Vault, progress: OnNotesRebuilt = lambda *_: None) -> str | None:
    """Read every file and rewrite its rows. If the folder cannot be read, returns the reason and leaves the notes as
    they are. Raises ``StorageFull``."""
    try:
        await readiness.wait_until_synced(vault)
        async with vault.notes.looking:  # this process's sync loop waits, and then finds the files read
            await _rewrite_all(vault, progress)
        await _follow_files(vault)
    except VaultUnavailable as failure:
        return failure.message
    return None


async def _rewrite_all(vault: Vault, progress: OnNotesRebuilt) -> None:
    walk = await run_in(vault.shared.pool, vault.notes.tree.walk)
    batches, done = (
        [[file_reader.to_reread(each.path) for each in batch] for batch in reconciliation.split_batches(walk.found)],
        0,
    )
    async with aclosing(reader_pool.read_batches(vault, batches)) as stream:
        async for count, found in stream:
            await vault.db.write(partial(_rewrite_rows, vault, found.extracts))
            done += count
            progress(done, len(walk.found))


def _rewrite_rows(vault: Vault, extracts: Sequence[NoteExtract], tx: Writer) -> None:
    updates = PassageUpdates(vault.shared.index.passage_tokens)
    for each in extracts:
        known = next(iter(note_rows.find_known(tx, [each.path])), None)
        if known is not None:
            if known.hash != each.hash and reconciliation.is_outdated(known, each):
                continue  # a tool wrote the note after this was read, and updated the rows
            passages.remove_items(tx, KIND, [known.seq])
            tx.run("DELETE FROM note_names WHERE note = :note", {"note": known.seq})
        note_rows.write_note(tx, each, updates)
    note_rows.write_passages(tx, updates, reconciliation.find_model(vault, tx))


async def _follow_files(vault: Vault) -> None:
    """Catch up with files that changed or vanished since they were read, and record those left out."""
    try:
        await reconciliation.reconcile_all(vault)
    except reconciliation.NotesVanished as failure:
        await asyncio.sleep(AGAIN_S)
        await reconciliation.reconcile_all(vault, expected=failure.missing)
