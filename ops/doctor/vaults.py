"""Checks of one vault: it opens, what it holds, what it owes. Those of its notes stand in ``notes``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

from ops.doctor.check import Check
from ops.doctor.notes import NOTES
from vaults.db.sql import Reader
from vaults.domain.notes import auditing
from vaults.domain.status import status
from vaults.errors import StrongroomError, VaultQuarantined
from vaults.index import embeddings
from vaults.pool import Pool
from vaults.registry import VaultEntry
from vaults.vault import Vault

VaultCheck: TypeAlias = Callable[[Vault], Awaitable[Check]]


async def holds(vault: Vault) -> Check:
    """What is in it."""
    found = await status(vault, None)
    counts = f"{found.memories.living:,} memories, {found.notes.notes:,} notes, {found.index.passages:,} passages"
    return Check("holds", "ok", f"{counts}, {found.storage_bytes // 1024:,} KB")


async def vectors(vault: Vault) -> Check:
    """Whether search by meaning finds everything."""

    def counted(tx: Reader) -> tuple[int, int]:
        given_up = "SELECT COUNT(*) FROM embedding_queue WHERE attempts >= ?"
        return embeddings.owed_count(tx), int(tx.value(given_up, (embeddings.MAX_ATTEMPTS,)))

    owed, given_up = await vault.db.read(counted)
    name, off = "vectors", vault.shared.embedding.engine == "off"
    if given_up:
        todo = f"run: strongroom reindex --vault {vault.name}"
        return Check(name, "warning", f"the model refused {given_up:,} passages; only keywords find them", todo)
    if owed:
        todo = "" if off else "a running server makes them; or run: strongroom doctor --repair"
        return Check(name, "notice", f"{owed:,} passages have no vector yet; keywords find them", todo)
    return Check(name, "ok", "every passage has its vector")


async def changes(vault: Vault) -> Check:
    """Whether every change a tool began was ended."""
    if count := await auditing.unfinished(vault):
        message = f"{count:,} changes of notes were begun and not ended"
        return Check("changes", "error", message, f"run: strongroom doctor --repair --vault {vault.name}")
    return Check("changes", "ok", "every change was ended")


VAULT: tuple[VaultCheck, ...] = (holds, vectors, changes, *NOTES)


async def examine_vault(pool: Pool, entry: VaultEntry) -> list[Check]:
    """Whether a vault opens and, if so, every check of it, in order."""
    try:
        async with pool.lease(entry) as vault:
            opens = Check("opens", "ok", "it opens", vault=entry.name)
            return [opens, *[await _examined(vault, check) for check in VAULT]]
    except VaultQuarantined as failure:
        reason = failure.details.get("reason", "damaged")
        message = f"it is shut out ({reason}): {failure.message}"
        return [Check("opens", "error", message, failure.hint or "restore a backup", vault=entry.name)]
    except StrongroomError as failure:
        return [Check("opens", "error", f"it does not open: {failure.message}", failure.hint or "", vault=entry.name)]


async def _examined(vault: Vault, check: VaultCheck) -> Check:
    try:
        return replace(await check(vault), vault=vault.name)
    except VaultQuarantined:
        raise
    except StrongroomError as failure:
        name = getattr(check, "__name__", "check")
        return Check(name, "error", f"it could not be looked at: {failure.message}", failure.hint or "", [], vault.name)
