"""The commits that memories refer to: which one is checked out, and which are no longer in its history."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from vaults.context import run_in
from vaults.domain.memories.storage import PreparedMemory
from vaults.history.ancestry import Repository, open_repository
from vaults.history.errors import HistoryUnavailable
from vaults.vault import Vault

T = TypeVar("T")

MAX_COMMITS_CHECKED = 200
"""Max commits the repository is asked about in one call."""


async def add_current_commit(vault: Vault, prepared: PreparedMemory) -> PreparedMemory:
    """The memory with the commit checked out in the vault's repository, unless it names one."""
    if prepared.anchor_commit is not None or _repository_folder(vault) is None:
        return prepared
    return replace(prepared, anchor_commit=await find_current_commit(vault))


async def find_current_commit(vault: Vault) -> str | None:
    """The full id of the commit checked out in the vault's repository; None where there is none."""
    folder = _repository_folder(vault)
    if folder is None:
        return None
    return await _ask_repository(vault, folder, Repository.head)


async def find_orphans(vault: Vault, commits: Collection[str], head: str) -> frozenset[str] | None:
    """Those of ``commits`` that are not ancestors of ``head``, a full id; only the first ``MAX_COMMITS_CHECKED`` are
    checked. None where this cannot be known: the vault has no repository, it cannot be read, or does not know
    ``head``."""
    folder, first = _repository_folder(vault), tuple(dict.fromkeys(commits))[:MAX_COMMITS_CHECKED]
    if folder is None:
        return None
    return await _ask_repository(vault, folder, lambda repository: repository.outside(first, head))


def _repository_folder(vault: Vault) -> Path | None:
    """The folder of the repository the vault's work is in: the folder served in place, or the one in the settings."""
    if vault.entry.path is not None:
        return vault.entry.path
    named = vault.notes.settings.repository
    return Path(named) if named else None


async def _ask_repository(vault: Vault, folder: Path, question: Callable[[Repository], T | None]) -> T | None:
    """Ask the repository, on a thread; None where there is none. After a failure it is reopened the next time."""

    def ask() -> T | None:
        if vault.notes.repository is None:
            vault.notes.repository = open_repository(folder)
        repository: Repository | None = vault.notes.repository
        return question(repository) if repository else None

    try:
        return await run_in(vault.shared.pool, ask)
    except HistoryUnavailable:
        vault.notes.repository = None
        return None
