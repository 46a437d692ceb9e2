"""The folder of notes of a vault that was taken: a view of what its database holds."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from vaults.db.connection import Database


async def lay_out_folder(folder: Path, db: Database) -> None:
    """Lay the notes of a vault out in its folder, which nobody uses yet. Raises ``VaultQuarantined`` where the database
    does not hold what its rows name."""
    # What it needs is most of this program: a start takes no vault.
    from vaults.domain.notes.commit.folder_layout import lay_out_from
    from vaults.vault import NOTES_FOLDER

    await db.read(partial(lay_out_from, folder / NOTES_FOLDER))
