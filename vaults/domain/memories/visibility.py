"""Who may see a memory, looked up without reading it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.errors import NotFound

if TYPE_CHECKING:
    from vaults.vault import Vault


def find_visible(tx: Reader, memory_id: str, actor: Actor) -> int:
    """The ``seq`` of a memory the actor may see. Raises ``NotFound``, alike for an absent one and for someone
    else's."""
    seq = tx.value(
        "SELECT seq FROM memories WHERE id = :id AND (visibility = 'shared' OR stored_by = :viewer)",
        {"id": memory_id, "viewer": actor.identity},
    )
    if seq is None:
        raise NotFound(f"no memory {memory_id[:64]}")
    return int(seq)


async def find_sole_viewers(vault: Vault, ids: Collection[str]) -> Mapping[str, str | None]:
    """For each memory that exists, the only identity that may see it; None: everybody in the vault. For notifying
    them that it changed; does not count as an access."""

    def read(tx: Reader) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for memory_id in ids:
            row = tx.one("SELECT visibility, stored_by FROM memories WHERE id = :id", {"id": memory_id})
            if row is not None:
                visibility, stored_by = row
                found[memory_id] = None if visibility == "shared" else str(stored_by)
        return found

    return await vault.db.read(read)
