"""A vault as the administration shows it: what the registry and its files say, without opening it. Of one that another
server has, that server is asked; of one that none has now, nobody knows the size."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from server.call_routes import ElsewhereVault
from server.services import Services
from vaults import registry
from vaults.registry import DATABASE_FILE, VaultEntry

VaultState = Literal["active", "archived", "damaged", "missing"]


@dataclass(frozen=True, slots=True)
class VaultLine:
    """``size``: bytes of its database; None where nobody can say. ``plan`` None: it is on the default one. ``reason``:
    why it is not served. ``has_folder``: False where its files are gone, or their disk is."""

    entry: VaultEntry
    state: VaultState
    size: int | None
    plan: str | None
    reason: str = ""
    has_folder: bool = True


async def read_lines(services: Services) -> list[VaultLine]:
    """Every vault by name, archived ones too."""
    entries = await services.control.read(registry.list_vaults)
    return await _look_everywhere(services, entries)


async def read_line(services: Services, name: str) -> VaultLine:
    """One of them. Raises ``NotFound``."""
    entry = await services.control.read(lambda tx: registry.get(tx, name))
    return (await _look_everywhere(services, [entry]))[0]


async def look_at_held(services: Services) -> Mapping[str, ElsewhereVault]:
    """The vaults that this server has, for the pages of another, by id."""
    entries = [each for each in services.registry_cache.entries() if services.holds(each.vault_id)]
    lines = await asyncio.to_thread(_look_at, services, entries)
    return {line.entry.vault_id: ElsewhereVault(line.size or 0, line.reason) for line in lines}


async def _look_everywhere(services: Services, entries: list[VaultEntry]) -> list[VaultLine]:
    lines = await asyncio.to_thread(_look_at, services, entries)
    if services.cluster is None:
        return lines
    elsewhere = {} if services.routes.vaults is None else await services.routes.vaults()
    return [
        line if services.holds(line.entry.vault_id) else _say(line, elsewhere.get(line.entry.vault_id))
        for line in lines
    ]


def _say(line: VaultLine, found: ElsewhereVault | None) -> VaultLine:
    """A vault that is not here, whose files here say nothing."""
    known = replace(line, size=None if found is None else found.size, has_folder=True)
    if line.entry.state == "archived" or line.state == "damaged":
        return known
    return replace(known, state="damaged" if found and found.reason else "active", reason=found.reason if found else "")


def _look_at(services: Services, entries: list[VaultEntry]) -> list[VaultLine]:
    damaged, plans = services.pool.quarantined, services.access_cache.current.holders.vaults
    lines = []
    for each in entries:
        folder, failure = services.pool.folder_of(each), damaged.get(each.name)
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
