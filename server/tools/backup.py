"""Backups that an admin asks for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from auth.roles import Role
from server.call import Call
from server.tool_spec import EDITS, Action, Arguments, tool


class BackupArguments(Arguments):
    action: Annotated[Literal["run"], Field(description="what to do")] = "run"


@dataclass(frozen=True, slots=True)
class BackupResult:
    """An archive that was written and read back. ``bytes``: of the archive; ``of_bytes``: of what is in it;
    ``position``: number of the vault's last change in it; ``encrypted``: for the holders of the operator's keys."""

    archive: str
    bytes: int
    of_bytes: int
    seconds: float
    position: int
    encrypted: bool


@tool(
    role=Role.ADMIN,
    effect=EDITS,
    preset="full",
    actions={"run": Action(Role.ADMIN, "write a backup of this vault")},
)
async def backup(call: Call, args: BackupArguments) -> BackupResult:  # noqa: ARG001  every tool has the same shape
    """Back this vault up now: an archive where the operator keeps backups. Use it before a change that is hard to take
    back; it takes seconds to minutes, and others go on meanwhile."""
    from ops.backup.back_up import back_up_vault
    from server import backups
    from server.settings import FILE

    services = call.services
    keys = services.settings.auth.key_passphrase_file
    order = await asyncio.to_thread(
        backups.make_order, services.settings.backup, services.data, key_passphrase_file=keys
    )
    home = backups.describe_installation(services.control, services.data, services.data / FILE, services.settings)
    run = await back_up_vault(home, call.vault.entry, order)
    return BackupResult(
        archive=run.target.rpartition("/")[2],
        bytes=run.moved,
        of_bytes=run.size,
        seconds=round(run.seconds, 3),
        position=run.position,
        encrypted=order.seal.encrypts,
    )
