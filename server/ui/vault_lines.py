"""A vault as the administration shows it: what the registry and its files say, without opening it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from server.services import Services
from vaults import registry
from vaults.registry import DATABASE_FILE, VaultEntry, folder_of

VaultState = Literal["active", "archived", "damaged", "missing"]


@dataclass(frozen=True, slots=True)
class VaultLine:
    """``size``: bytes of its database. ``plan`` None: it is on the default one. ``reason``: why it is not served.
    ``has_folder``: False where its files are gone, or their disk is."""

    entry: VaultEntry
    state: VaultState
    size: int
    plan: str | None
    reason: str = ""
    has_folder: bool = True


async def read_lines(services: Services) -> list[VaultLine]:
    """Every vault by name, archived ones too."""
    entries = await services.control.read(registry.list_vaults)
    return await asyncio.to_thread(_look_at, services, entries)


async def read_line(services: Services, name: str) -> VaultLine:
    """One of them. Raises ``NotFound``."""
    entry = await services.control.read(lambda tx: registry.get(tx, name))
    return (await asyncio.to_thread(_look_at, services, [entry]))[0]


def _look_at(services: Services, entries: list[VaultEntry]) -> list[VaultLine]:
    damaged, plans = services.pool.quarantined, services.access_cache.current.holders.vaults
    lines = []
    for each in entries:
        folder, failure = folder_of(services.data, each.name, each.path), damaged.get(each.name)
        size = _size_of(folder)
        state: VaultState = "archived" if each.state == "archived" else "missing" if size is None else "active"
        if failure is not None and state != "archived":
            state = "damaged"
        reason = failure.message if failure else ""
        lines.append(VaultLine(each, state, size or 0, plans.get(each.name), reason, has_folder=folder.is_dir()))
    return lines


def _size_of(folder: Path) -> int | None:
    """Bytes of the database with what is not merged into it yet; None: there is none."""
    try:
        return sum(path.stat().st_size for path in folder.glob(f"{DATABASE_FILE}*")) or None
    except OSError:  # one of them went between the two looks: a page that is asked again has the number
        return 0 if (folder / DATABASE_FILE).exists() else None
