"""What is finished before a vault's first answer: notes that a restore was killed over, and changes of notes."""

from __future__ import annotations

from ops.backup import notes_in_place
from vaults.db.sql import Reader
from vaults.domain.notes.commit import recovery
from vaults.vault import BackgroundJob, Vault


def _is_due(tx: Reader) -> bool:
    return notes_in_place.are_waiting(tx) or recovery.RECOVER.is_due(tx)


async def _recover(vault: Vault) -> None:
    await notes_in_place.place_waiting(vault)
    await recovery.recover(vault)


RECOVER = BackgroundJob("restore", _is_due, _recover)
