"""Checks of one vault: whether it opens, what it holds, what is unfinished. Those of its notes are in ``notes``, those
of its sessions in ``continuity``.

The operator at the machine learns everything. A caller learns nothing of others' private memories, not even that there
are some, nor where on the machine anything lies.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from ops.doctor.background import background
from ops.doctor.check import DoctorCheck
from ops.doctor.collections import collections
from ops.doctor.continuity import CONTINUITY
from ops.doctor.integrity import integrity
from ops.doctor.kept_damage import kept_damage
from ops.doctor.notes import NOTES
from ops.doctor.vault_model import own_model
from vaults.db import free_pages
from vaults.db.sql import Reader
from vaults.disk_reserve import MB
from vaults.domain.actors import Actor
from vaults.domain.maintenance import eviction_need
from vaults.domain.maintenance.vault_status import read_status
from vaults.domain.notes.verify import journal_check
from vaults.errors import StrongroomError, VaultQuarantined
from vaults.index import embeddings
from vaults.pool import VaultPool
from vaults.registry import VaultEntry
from vaults.vault import Vault

VaultCheck: TypeAlias = Callable[[Vault], Awaitable[DoctorCheck]]


async def holds(vault: Vault, viewer: Actor | None = None) -> DoctorCheck:
    """What the vault holds."""
    found = await read_status(vault, viewer)
    counts = f"{found.memories.living:,} memories, {found.notes.notes:,} notes, {found.index.passages:,} passages"
    read_in = found.documents.documents + found.documents.transcripts
    counts += f" ({read_in:,} documents and transcripts)" if read_in else ""
    return DoctorCheck("holds", "ok", f"{counts}, {found.storage_bytes // 1024:,} KB")


_SHARED = (
    " AND NOT EXISTS (SELECT 1 FROM passages p WHERE p.seq = q.passage AND p.owner IS NOT NULL AND p.owner <> :viewer)"
)


async def vectors(vault: Vault, viewer: Actor | None = None) -> DoctorCheck:
    """Whether search by meaning finds everything."""
    seen, params = (_SHARED, {"viewer": viewer.identity}) if viewer else ("", {})

    def count(tx: Reader) -> tuple[int, int]:
        waiting = f"SELECT COUNT(*) FROM embedding_queue q WHERE q.attempts >= :tries{seen}"
        return (
            int(tx.value(waiting, {"tries": 0, **params})),
            int(tx.value(waiting, {"tries": embeddings.MAX_ATTEMPTS, **params})),
        )

    missing, given_up = await vault.db.read(count)
    name, off = "vectors", vault.shared.embedding.engine == "off"
    if given_up:
        todo = f"run: strongroom reindex --vault {vault.name}"
        return DoctorCheck(name, "warning", f"the model refused {given_up:,} passages; only keywords find them", todo)
    if missing:
        todo = "" if off else "a running server makes them; or run: strongroom doctor --repair"
        return DoctorCheck(name, "notice", f"{missing:,} passages have no vector yet; keywords find them", todo)
    return DoctorCheck(name, "ok", "every passage has its vector")


async def limits(vault: Vault, viewer: Actor | None = None) -> DoctorCheck:
    """Whether the limits of storage are kept. How full the vault is tells of what others keep privately, so a caller
    learns only that a limit cannot be kept."""
    name, bound = "storage_limits", vault.limits
    if not bound.are_set:
        return DoctorCheck(name, "ok", "no limit of storage is set")
    problem = await vault.db.read(lambda tx: eviction_need.find_problem(tx, bound))
    if problem is not None:
        todo = "raise the limit, or unpin some: strongroom evict --dry-run lists what stays and why"
        told = problem if viewer is None else "a limit of storage cannot be kept"
        return DoctorCheck(name, "warning", told, todo)
    if viewer is not None or bound.max_size is None:
        return DoctorCheck(name, "ok", "the limits of storage are kept")
    size = await vault.db.read(lambda tx: tx.size())
    free = await vault.db.read(free_pages.read_free_pages)
    message = f"{size // MB:,} of {bound.max_size // MB:,} MB are taken"
    if not free.returnable:
        todo = f"run once: strongroom evict --compact --vault {vault.name}"
        return DoctorCheck(name, "notice", f"{message}; what goes leaves the file as long as it is", todo)
    return DoctorCheck(name, "ok", message)


async def changes(vault: Vault) -> DoctorCheck:
    """Whether every change a tool began was finished."""
    if count := await journal_check.count_unfinished(vault):
        message = f"{count:,} changes of notes were begun and not ended"
        return DoctorCheck("changes", "error", message, f"run: strongroom doctor --repair --vault {vault.name}")
    return DoctorCheck("changes", "ok", "every change was ended")


VAULT: tuple[VaultCheck, ...] = (
    holds,
    vectors,
    own_model,
    limits,
    changes,
    background,
    integrity,
    kept_damage,
    collections,
    *CONTINUITY,
    *NOTES,
)


async def examine_open(vault: Vault, viewer: Actor) -> list[DoctorCheck]:
    """Every check of an open vault, for a caller."""
    for_viewer: dict[VaultCheck, VaultCheck] = {
        holds: partial(holds, viewer=viewer),
        vectors: partial(vectors, viewer=viewer),
        limits: partial(limits, viewer=viewer),
    }
    found = [await _run_check(vault, for_viewer.get(check, check)) for check in VAULT]
    return [_without_paths(vault, each) for each in found]


def _without_paths(vault: Vault, check: DoctorCheck) -> DoctorCheck:
    """The check without the vault's paths on this machine."""

    def hide(text: str) -> str:
        return text.replace(str(vault.notes.root), "the notes folder").replace(str(vault.folder), "the vault's folder")

    return replace(
        check, message=hide(check.message), todo=hide(check.todo), details=[hide(line) for line in check.details]
    )


async def examine_vault(pool: VaultPool, entry: VaultEntry) -> list[DoctorCheck]:
    """Whether a vault opens and, if so, every check of it, in order."""
    try:
        async with pool.lease(entry) as vault:
            opens = DoctorCheck("opens", "ok", "it opens", vault=entry.name)
            return [opens, *[await _run_check(vault, check) for check in VAULT]]
    except VaultQuarantined as failure:
        reason = failure.details.get("reason", "damaged")
        message = f"it is shut out ({reason}): {failure.message}"
        return [DoctorCheck("opens", "error", message, failure.hint or "restore a backup", vault=entry.name)]
    except StrongroomError as failure:
        return [
            DoctorCheck("opens", "error", f"it does not open: {failure.message}", failure.hint or "", vault=entry.name)
        ]


async def _run_check(vault: Vault, check: VaultCheck) -> DoctorCheck:
    try:
        return replace(await check(vault), vault=vault.name)
    except VaultQuarantined:
        raise
    except StrongroomError as failure:
        name = getattr(getattr(check, "func", check), "__name__", "check")
        return DoctorCheck(
            name,
            "error",
            f"it could not be looked at: {failure.message}",
            todo=failure.hint or "",
            vault=vault.name,
        )
