"""Checking that the folder of notes holds what the vault's rows keep of it, where it is a view of them. Read-only."""

from __future__ import annotations

from collections.abc import Iterable

from vaults.context import run_in
from vaults.domain.notes.commit import note_files
from vaults.domain.notes.commit.note_files import NoteFile
from vaults.domain.notes.index.extraction import compute_digest
from vaults.errors import Overloaded, ReadOnly, StrongroomError
from vaults.files.tree import Tree
from vaults.vault import Vault


async def count_differing(vault: Vault) -> int:
    """How many files are not what their rows say, are missing, or have no row. Raises ``VaultUnavailable``."""
    if not vault.keeps_note_files or not await _find_differing(vault):
        return 0
    try:
        async with vault.notes.writing():  # what a tool was just changing is changed by now
            return len(await _find_differing(vault))
    except (Overloaded, ReadOnly):
        return 0


async def _find_differing(vault: Vault) -> list[str]:
    rows = await vault.db.read(note_files.list_files)
    return await run_in(vault.shared.pool, find_differing, vault.notes.tree, rows)


def find_differing(tree: Tree, rows: Iterable[NoteFile]) -> list[str]:
    """Paths where a folder is not what ``rows`` say, by its bytes. Files too large to be kept are none. Blocking."""
    known, walk = {each.path: each.version for each in rows}, tree.walk_whole()
    found = {each.path for each in walk.found if each.stamp.size <= note_files.MAX_BYTES}
    return sorted(path for path in known.keys() | found if _digest_at(tree, path) != known.get(path))


def _digest_at(tree: Tree, path: str) -> str | None:
    try:
        return compute_digest(tree.read(path, note_files.MAX_BYTES).data)
    except StrongroomError:
        return None
