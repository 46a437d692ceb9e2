"""Whether damaged databases are still kept that a salvage put aside."""

from __future__ import annotations

from pathlib import Path

from ops.doctor.check import DoctorCheck
from ops.salvage.exchange import find_kept
from vaults.context import run_in
from vaults.vault import Vault

MB = 1 << 20


async def kept_damage(vault: Vault) -> DoctorCheck:
    """They take room, and what was purged since stands in them."""
    files = await run_in(vault.shared.pool, _measure, vault.db.path)
    name = "kept_damage"
    if not files:
        return DoctorCheck(name, "ok", "no damaged database is kept")
    message = f"{len(files):,} files of damaged databases are kept, {sum(files.values()) // MB:,} MB"
    todo = "delete them once you are content with what came back: what was purged since may stand in them"
    return DoctorCheck(name, "notice", message, todo, sorted(files))


def _measure(path: Path) -> dict[str, int]:
    return {each.name: each.stat().st_size for each in find_kept(path)}
