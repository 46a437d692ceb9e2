"""The commits that memories refer to: which one is checked out, and which are no longer in its history."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from vaults.context import run_in
from vaults.domain.memories.storage import PreparedMemory
from vaults.history.ancestry import Repository
from vaults.vault import Vault

MAX_COMMITS_CHECKED = 200
"""Max commits the repository is asked about in one call."""


async def add_current_commit(vault: Vault, prepared: PreparedMemory) -> PreparedMemory:
    """The memory with the commit checked out in the vault's repository, unless it names one."""
    if prepared.anchor_commit is not None or vault.work_repository.folder is None:
        return prepared
    return replace(prepared, anchor_commit=await find_current_commit(vault))


async def find_current_commit(vault: Vault) -> str | None:
    """The full id of the commit checked out in the vault's repository; None where there is none."""
    repository = vault.work_repository
    return await run_in(vault.shared.pool, repository.ask, Repository.head) if repository.folder else None


async def find_orphans(vault: Vault, commits: Collection[str], head: str) -> frozenset[str] | None:
    """Those of ``commits`` that are not ancestors of ``head``, a full id; only the first ``MAX_COMMITS_CHECKED`` are
    checked. None where this cannot be known: the vault has no repository, it cannot be read, or does not know
    ``head``."""
    repository, first = vault.work_repository, tuple(dict.fromkeys(commits))[:MAX_COMMITS_CHECKED]
    if repository.folder is None:
        return None
    return await run_in(vault.shared.pool, repository.ask, lambda opened: opened.outside(first, head))
