"""Removing a collection: nobody sees it from the first step on, its documents go in small ones."""

from __future__ import annotations

from functools import partial

from vaults.db.sql import Writer
from vaults.domain.collections import collection_rows, document_writes, file_rows
from vaults.vault import BackgroundJob, Vault

REMOVED_AT_ONCE = 8
"""Documents that are deleted in one transaction."""


async def finish_removals(vault: Vault) -> None:
    """Delete what is left of collections that were removed. After a kill it goes on where it was."""
    for seq in await vault.db.read(collection_rows.find_removed):
        left = True
        while left:
            left = await vault.db.write(partial(_remove_some, seq))


def _remove_some(seq: int, tx: Writer) -> bool:
    files = file_rows.page_files(tx, seq, REMOVED_AT_ONCE)
    document_writes.drop_files(tx, seq, files)
    if not files:
        collection_rows.delete(tx, seq)
    return bool(files)


REMOVE = BackgroundJob("remove_collections", lambda tx: bool(collection_rows.find_removed(tx)), finish_removals)
