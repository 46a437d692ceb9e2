"""Who may see a memory, looked up without reading it: for notifying others that it changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from vaults.db.sql import Reader
from vaults.vault import Vault


async def find_sole_viewers(vault: Vault, ids: Collection[str]) -> Mapping[str, str | None]:
    """For each memory that exists, the only identity that may see it; None: everybody in the vault. Does not count as
    an access."""

    def read(tx: Reader) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for memory_id in ids:
            row = tx.one("SELECT visibility, stored_by FROM memories WHERE id = ?", (memory_id,))
            if row is not None:
                found[memory_id] = None if row[0] == "shared" else str(row[1])
        return found

    return await vault.db.read(read)
