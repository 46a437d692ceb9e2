"""The folder of notes of a vault that was taken: a view of what its database holds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from vaults.registry import DATABASE_FILE, VaultEntry
from vaults.settings import StorageSettings

NotesLayout = Callable[[VaultEntry, Path], Awaitable[None]]
"""Lays the notes of a vault out in its folder, in which its database was restored and is open nowhere."""


def to_note_layout(storage: StorageSettings) -> NotesLayout:
    """Raises ``VaultQuarantined`` where the database does not hold what its rows name."""

    async def lay_out(_entry: VaultEntry, folder: Path) -> None:
        # What it needs is most of this program: a start takes no vault.
        from vaults.domain.notes.commit.folder_layout import lay_out_notes
        from vaults.vault import NOTES_FOLDER

        await asyncio.to_thread(lay_out_notes, folder / DATABASE_FILE, folder / NOTES_FOLDER, storage)

    return lay_out
