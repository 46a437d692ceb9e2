"""Building everything derived of notes anew from their files, while they go on being found and changed.

Each note gives up its rows and gets them again in one transaction, so at every moment it is found as it was or as it
is. Its number stays. Whoever follows the files, here or in another process, goes on doing so: what a tool or another
program wrote after a file was read here wins.
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
from vaults.vault import Vault

AGAIN_S = 2.0
"""Seconds until most notes, missing of a sudden, are looked for once more."""

OnNotesRebuilt = Callable[[int, int], None]


async def rebuild_index(vault: Vault, progress: OnNotesRebuilt = lambda *_: None) -> str | None:
    """Read every file and write its rows anew. Returns why not, where the folder cannot be read: then the notes stay
    as they are. Raises ``StorageFull``."""
    try:
        await readiness.wait_until_synced(vault)
        async with vault.notes.looking:  # whoever follows the files here waits, and finds them read
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
            await vault.db.write(partial(_rewrite_rows, vault, found.taken))
            done += count
            progress(done, len(walk.found))


def _rewrite_rows(vault: Vault, taken: Sequence[NoteExtract], tx: Writer) -> None:
    model, limit = reconciliation.find_model(vault, tx), vault.shared.index.passage_tokens
    for each in taken:
        held = next(iter(note_rows.find_known(tx, [each.path])), None)
        if held is not None:
            if held.hash != each.hash and reconciliation.is_outdated(held, each):
                continue  # a tool wrote it after this was read, and has told the rows
            passages.remove_items(tx, KIND, [held.seq])
            tx.run("DELETE FROM note_names WHERE note = ?", (held.seq,))
        note_rows.write_note(tx, each, model, limit)


async def _follow_files(vault: Vault) -> None:
    """What changed or went since it was read, and what is left out and why."""
    try:
        await reconciliation.reconcile_all(vault)
    except reconciliation.NotesVanished as failure:
        await asyncio.sleep(AGAIN_S)
        await reconciliation.reconcile_all(vault, expected=failure.missing)
