"""Echoes: an agent stores word for word what it was just shown, and the next one would find it twice.

What a caller was shown is kept as digests, in the process, for ``hygiene.echo_s``. A part of a conversation is never an
echo: people repeat each other.
"""

from __future__ import annotations

from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.memories import storage
from vaults.domain.memories.memory_model import MemoryFields
from vaults.domain.memories.storage import StoreResult
from vaults.vault import Vault

IN_NOTE_WARNING = "the note says so already; to keep it as a memory all the same, pass on_duplicate: store"
JUST_READ_WARNING = "it was just read from there; to keep it twice all the same, pass on_duplicate: store"


async def find_echo(vault: Vault, actor: Actor, fields: MemoryFields) -> StoreResult | None:
    """The source of this very text, if the actor was shown it and it is still there: a memory, or a note by its
    path."""
    within_s = vault.shared.hygiene.echo_s
    if not within_s or fields.parent is not None:
        return None
    source = vault.shown_texts.find_shown_source(actor.identity, fields.content, within_s)
    if source is None:
        return None
    return await vault.db.read(lambda tx: _find_still_there(tx, actor, source, fields.visibility))


def _find_still_there(tx: Reader, actor: Actor, source: str, visibility: str) -> StoreResult | None:
    """The memory or note, unless it is private while the new memory is to be shared."""
    memory = storage.find_living(tx, actor, source, visibility)
    if memory is not None:
        memory.warnings.append(JUST_READ_WARNING)
        return memory
    row = tx.one("SELECT path, title, created_at FROM notes WHERE path = ?", (source,))
    return (
        StoreResult(row[0], row[1], row[2], "ready", duplicate_of=row[0], warnings=[IN_NOTE_WARNING]) if row else None
    )
