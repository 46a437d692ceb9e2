"""Backups of the vault: made when an admin asks, and how the last ones went."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from auth.roles import Role
from server.call import Call
from server.tool_spec import EDITS, LOOKS, Action, Arguments, tool

if TYPE_CHECKING:
    from ops.backup.backup_runs import BackupRun


class BackupArguments(Arguments):
    action: Annotated[Literal["list", "run"], Field(description="run: make one now")] = "list"
    limit: Annotated[int, Field(ge=1, le=100, description="list: at most so many")] = 10


@dataclass(frozen=True, slots=True)
class BackupSummary:
    """How a backup went. ``outcome``: ok, or the code of what failed; ``name``: of the archive or snapshot; ``bytes``:
    written; ``of_bytes``: backed up; ``position``: number of the vault's last change in it."""

    began_at: str
    outcome: str
    name: str
    bytes: int
    of_bytes: int
    seconds: float
    position: int


@dataclass(frozen=True, slots=True)
class BackupsResult:
    """Backups of this vault, newest first."""

    backups: list[BackupSummary] = field(default_factory=list)


@tool(
    role=Role.ADMIN,
    effect=EDITS,
    preset="full",
    actions={"list": LOOKS, "run": Action(Role.ADMIN, "write a backup of this vault")},
)
async def backup(call: Call, args: BackupArguments) -> BackupsResult:
    """Backups of this vault: how the last ones went, or one made now, where the operator keeps them. Use it before a
    change that is hard to take back; others go on meanwhile."""
    from ops.backup import backup_runs

    vault_id = call.vault.entry.vault_id
    if args.action == "run":
        return BackupsResult([_summarize(await _back_up(call))])
    runs = await call.services.control.read(lambda tx: backup_runs.list_runs(tx, vault_id, args.limit))
    return BackupsResult([_summarize(run) for run in runs])


async def _back_up(call: Call) -> BackupRun:
    from ops.audit.entries import AuditEntry
    from ops.backup.back_up import back_up_vault
    from server import backups
    from server.audited_calls import actor_of
    from server.settings import FILE

    services = call.services
    keys = services.settings.auth.key_passphrase_file
    order = await asyncio.to_thread(
        backups.make_order, services.settings.backup, services.data, key_passphrase_file=keys
    )
    home = backups.describe_installation(services.control, services.data, services.data / FILE, services.settings)
    entry = call.vault.entry
    act = AuditEntry("act", "backup", "ok", actor=actor_of(call.caller), action="run", vault=entry.name)
    async with services.audit.acting(act):
        return await back_up_vault(home, entry, order)


def _summarize(run: BackupRun) -> BackupSummary:
    return BackupSummary(
        began_at=run.began_at,
        outcome=run.outcome,
        name=run.target.rpartition("/")[2] if run.outcome == "ok" else "",
        bytes=run.moved,
        of_bytes=run.size,
        seconds=round(run.seconds, 3),
        position=run.position,
    )
