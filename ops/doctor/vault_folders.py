"""What stands in the folder of vaults besides vaults: changes that were not finished, and what nobody owns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ops.backup.restore_places import REPLACED, SCRATCH
from ops.doctor.check import DoctorCheck
from ops.vault_life import before_upgrade, copies
from ops.vault_life.folder_moves import ERASING, UNCLAIMED, FolderMove, aside_of
from vaults.registry import DATABASE_FILE, VaultEntry, folder_of

MB = 1024 * 1024
_OF_WORK = (copies.SCRATCH, SCRATCH, REPLACED)
"""Names that begin like this are of a copy or a restore, which clear them away by themselves."""


def moves(found: Sequence[FolderMove], data: Path) -> DoctorCheck:
    """Whether every vault that was renamed, copied or deleted has reached its place. Whoever asked this opened the
    installation, and so has tried to finish it: what is found here could not be."""
    name = "vault_moves"
    if not found:
        return DoctorCheck(name, "ok", "every vault is in its place")
    message = f"{len(found):,} vaults were renamed, copied or deleted, and their folders are still to follow"
    todo = "see that nobody has them open and their disk is there and can be written; the next start does the rest"
    return DoctorCheck(name, "warning", message, todo, [_tell(move, data) for move in found])


def _tell(move: FolderMove, data: Path) -> str:
    place, aside = folder_of(data, move.from_name, move.path), aside_of(data, move)
    if move.kind == "erase":
        return f"{move.from_name} was deleted: {aside if aside.is_dir() else place} is still to be erased"
    if place.is_dir():
        return f"{move.from_name} is {move.to_name} now: {place} is still to be moved"
    return (
        f"the folder of {move.to_name} is in neither place: mount its disk; if it is lost, "
        f"strongroom restore latest --vault {move.to_name}, or strongroom vault delete {move.to_name} --no-backup"
    )


def strays(entries: Sequence[VaultEntry], found: Sequence[FolderMove], data: Path) -> DoctorCheck:
    """Whether folders lie among the vaults that are no vault's."""
    known = {entry.name for entry in entries if entry.path is None}
    known |= {name for move in found for name in (move.from_name, move.to_name, aside_of(data, move).name) if name}
    vaults = data / "vaults"
    others = [path for path in vaults.iterdir() if path.is_dir()] if vaults.is_dir() else []
    lost = sorted(path for path in others if path.name not in known and not path.name.startswith(_OF_WORK))
    if not lost:
        return DoctorCheck("vault_folders", "ok", "no folder among the vaults is nobody's")
    todo = "look into each; what is to be served again: vault create with its name, if that is free; else remove it"
    return DoctorCheck(
        "vault_folders", "notice", f"{len(lost):,} folders among the vaults are no vault's", todo, _name_all(lost)
    )


def _name_all(lost: Sequence[Path]) -> list[str]:
    why = {UNCLAIMED: "stood in the way of a vault that was renamed", ERASING: "of a deleted vault, not erased"}
    return [
        f"{path}" + "".join(f": {reason}" for prefix, reason in why.items() if path.name.startswith(prefix))
        for path in lost
    ]


def upgrade_copies(entries: Sequence[VaultEntry], data: Path) -> DoctorCheck:
    """Whether copies from before an upgrade still lie there: they hold also what was purged since."""
    databases = [data / "control.db", *(folder_of(data, each.name, each.path) / DATABASE_FILE for each in entries)]
    kept = [copy for database in databases for copy in before_upgrade.copies_of(database)]
    if not kept:
        return DoctorCheck("upgrade_copies", "ok", "no copy from before an upgrade is kept")
    size = sum(copy.stat().st_size for copy in kept) // MB
    message = f"{len(kept):,} copies from before an upgrade take {size:,} MB, and hold also what was purged since"
    todo = "remove them once this version has proved itself"
    return DoctorCheck("upgrade_copies", "notice", message, todo, [str(copy) for copy in kept])
