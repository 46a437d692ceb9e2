"""Checking that the journal is consistent. Read-only."""

from __future__ import annotations

from vaults.db.sql import Reader
from vaults.domain.notes.commit import journal, version_store
from vaults.errors import Overloaded, ReadOnly
from vaults.vault import Vault

_UNNAMED = f"SELECT COUNT(*) FROM note_versions WHERE {version_store.UNNAMED}"
_MISSING = (
    "SELECT COUNT(*) FROM (SELECT before AS hash FROM note_change_files UNION SELECT after FROM note_change_files) n"
    " WHERE n.hash IS NOT NULL AND NOT EXISTS (SELECT 1 FROM note_versions v WHERE v.hash = n.hash)"
)


async def count_unfinished(vault: Vault) -> int:
    """How many changes were begun and will not be finished by their process."""
    if not await vault.db.read(journal.list_unfinished):
        return 0
    try:
        async with vault.notes.writing():  # a live writer has finished by now; a dead one never will
            return len(await vault.db.read(journal.list_unfinished))
    except Overloaded:
        return 0  # a long write is in progress
    except ReadOnly:
        return len(await vault.db.read(journal.list_unfinished))


def count_wrong_versions(tx: Reader) -> dict[str, int]:
    """The number of faults in kept versions, by code of finding."""
    return {
        "versions_damaged": version_store.count_damaged(tx),
        "versions_missing": int(tx.value(_MISSING)),
        "versions_unnamed": int(tx.value(_UNNAMED)),
    }
