"""What is backed up: a vault's files, and what control.db says of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from auth.grants import list_grants
from auth.plan_holders import load_holders
from vaults.db.sql import Reader
from vaults.db.transactions import Transactions
from vaults.registry import VaultEntry, folder_of, instance_id
from vaults.settings import NotesSettings, StorageSettings


class GrantRecord(BaseModel):
    """One grant on the vault."""

    model_config = ConfigDict(frozen=True, strict=True)

    subject: str
    issuer: str
    role: str
    created_at: str


class VaultRecord(BaseModel):
    """The member ``settings.json``: what control.db says of a vault. ``path``: where it was served in place; None for
    one in the data folder."""

    model_config = ConfigDict(frozen=True, strict=True)

    name: str
    vault_id: str
    path: str | None
    preset: str
    write_mode: str
    destructive: str
    created_at: str
    plan: str | None = None
    grants: tuple[GrantRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class BackupSubject:
    """One vault to back up. ``folder``: its state; ``installation``: the id of this one; ``version``: strongroom's."""

    entry: VaultEntry
    folder: Path
    record: VaultRecord
    installation: str
    version: str
    storage: StorageSettings
    notes: NotesSettings


async def read_subject(
    control: Transactions,
    data: Path,
    entry: VaultEntry,
    *,
    version: str,
    storage: StorageSettings,
    notes: NotesSettings,
) -> BackupSubject:
    """What there is to back up of a registered vault."""
    return BackupSubject(
        entry=entry,
        folder=folder_of(data, entry.name, entry.path),
        record=await control.read(lambda tx: _read_record(tx, entry)),
        installation=await instance_id(control),
        version=version,
        storage=storage,
        notes=notes,
    )


def _read_record(tx: Reader, entry: VaultEntry) -> VaultRecord:
    grants = tuple(
        GrantRecord(subject=each.subject, issuer=each.issuer, role=each.role.label, created_at=each.created_at)
        for each in list_grants(tx)
        if each.vault == entry.name and each.source is None  # the others come again with whoever signs in
    )
    return VaultRecord(
        name=entry.name,
        vault_id=entry.vault_id,
        path=str(entry.path) if entry.path else None,
        preset=entry.preset,
        write_mode=entry.write_mode,
        destructive=entry.destructive,
        created_at=entry.created_at,
        plan=load_holders(tx).vaults.get(entry.name),
        grants=grants,
    )
