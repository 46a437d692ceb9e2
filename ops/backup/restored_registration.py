"""Which vault a backup is restored into, and what control.db says of it afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from uuid_utils import uuid7

from auth import grants
from auth.plan_holders import PlanHolder, set_plan
from auth.roles import parse_role
from ops.backup.manifest import BackupManifest
from ops.backup.subject import VaultRecord
from ops.vault_life import folder_moves
from vaults import clock, registry
from vaults.db.sql import Reader, Writer
from vaults.db.transactions import Transactions
from vaults.errors import AlreadyExists, Conflict, InvalidArgument
from vaults.registry import NAME_RULE, VaultEntry, VaultRules, folder_of, is_valid_name


@dataclass(frozen=True, slots=True)
class RestoreTarget:
    """Where to: a registered vault, or a new one. ``record``: what the backup says of how it was set up."""

    entry: VaultEntry
    folder: Path
    is_new: bool
    record: VaultRecord | None = None


async def choose_target(
    control: Transactions, data: Path, manifest: BackupManifest, vault: str | None, as_new: str | None
) -> RestoreTarget:
    """The vault that is named; else the one the backup is of, whatever it is called now; else a new one of that name.
    Raises ``AlreadyExists`` rather than replace a vault that nobody named, ``InvalidArgument``, ``VaultUnavailable``
    while files of another vault are to be moved from its place."""
    entries = {each.name: each for each in await control.read(registry.list_vaults)}
    target = _choose(entries, data, manifest, vault, as_new)
    await folder_moves.forget_lost(control, data, target.entry.vault_id)
    await control.read(lambda tx: folder_moves.refuse_if_moving(tx, target.entry.name, target.entry.path))
    return target


def _choose(
    entries: dict[str, VaultEntry], data: Path, manifest: BackupManifest, vault: str | None, as_new: str | None
) -> RestoreTarget:
    if as_new is not None:
        return _choose_new(entries, data, as_new)
    same = next((each for each in entries.values() if each.vault_id == manifest.vault_id), None)
    if vault is None and same is not None:
        return RestoreTarget(same, folder_of(data, same.name, same.path), is_new=False)
    name = vault or manifest.vault
    _check_name(name)
    if (known := entries.get(name)) is not None:
        if vault is None:
            raise AlreadyExists(
                f"vault {name} is another one than the backup is of", hint="--vault replaces it, --as makes a new one"
            )
        return RestoreTarget(known, folder_of(data, name, known.path), is_new=False)
    folder = folder_of(data, name, None)
    if vault is None and folder.exists():
        raise AlreadyExists(
            f"there are files of a vault {name} that is not registered",
            hint="--vault replaces them, --as makes a new one",
        )
    vault_id = manifest.vault_id if same is None else str(uuid7())
    return RestoreTarget(_new_entry(name, vault_id), folder, is_new=True)


def _choose_new(entries: dict[str, VaultEntry], data: Path, name: str) -> RestoreTarget:
    _check_name(name)
    folder = folder_of(data, name, None)
    if name in entries or folder.exists():
        raise AlreadyExists(f"vault {name} exists already", hint="choose another name")
    return RestoreTarget(_new_entry(name, str(uuid7())), folder, is_new=True)


def _check_name(name: str) -> None:
    if not is_valid_name(name):
        raise InvalidArgument("--vault", NAME_RULE)


def _new_entry(name: str, vault_id: str) -> VaultEntry:
    return VaultEntry(name, vault_id, None, "active", "agent", "auto", clock.now())


async def require_unchanged(control: Transactions, target: RestoreTarget) -> None:
    """Call right before anything is replaced: extracting took its time. Raises ``Conflict`` for a vault that was
    renamed, moved or deleted meanwhile, ``AlreadyExists``, ``VaultUnavailable``."""
    await control.read(lambda tx: _require_unchanged(tx, target))


def _require_unchanged(tx: Reader, target: RestoreTarget) -> None:
    name = target.entry.name
    folder_moves.refuse_if_moving(tx, name)
    now = next((each for each in registry.list_vaults(tx) if each.name == name), None)
    if target.is_new and now is not None:
        raise AlreadyExists(f"a vault {name} was made meanwhile", hint="choose another name")
    if not target.is_new and (now is None or (now.vault_id, now.path) != (target.entry.vault_id, target.entry.path)):
        raise Conflict(
            f"vault {name} was renamed, moved or deleted while it was being restored; nothing was replaced",
            hint="vault list shows what there is now",
        )


async def register(control: Transactions, target: RestoreTarget, *, with_grants: bool) -> Sequence[str]:
    """Make the entry of a new vault, with rules, plan and grants of the backup; of a known one only the grants, and
    these only if asked for. Nobody's role gets lower. Returns who was given what. Raises as ``require_unchanged``."""
    if target.record is None or not (target.is_new or with_grants):
        await require_unchanged(control, target)
        return ()
    return await control.write(lambda tx: register_in(tx, target, with_grants=with_grants))


def register_in(tx: Writer, target: RestoreTarget, *, with_grants: bool) -> Sequence[str]:
    """``register`` in a transaction that does more."""
    _require_unchanged(tx, target)
    record = target.record
    if record is None or not (target.is_new or with_grants):
        return ()
    if target.is_new:
        _make_entry(tx, target.entry, record)
    return _give(tx, target.entry.name, record)


def _make_entry(tx: Writer, entry: VaultEntry, record: VaultRecord) -> None:
    folder_moves.refuse_if_moving(tx, entry.name)
    registry.create(tx, entry.name, None, entry.vault_id)
    registry.set_rules(tx, entry.name, _read_rules(record))
    if record.plan is not None:
        set_plan(tx, PlanHolder("vault", entry.name), record.plan)


def _read_rules(record: VaultRecord) -> VaultRules:
    try:
        return _RULES.validate_python({"write_mode": record.write_mode, "destructive": record.destructive})
    except ValidationError:
        raise InvalidArgument("archive", "has rules for writing that are none") from None


_RULES = TypeAdapter(VaultRules)


def _give(tx: Writer, vault: str, record: VaultRecord) -> Sequence[str]:
    before = {(each.subject, each.issuer): each.role for each in grants.list_grants(tx) if each.vault == vault}
    for each in record.grants:
        grants.raise_grant(tx, each.subject, each.issuer, vault, parse_role(each.role))
    after = [each for each in grants.list_grants(tx) if each.vault == vault]
    return [
        f"{each.subject} {each.role.label}" for each in after if before.get((each.subject, each.issuer)) != each.role
    ]
