"""Backups of the vault: made and proven when an admin asks, how the last ones went, and notes and memories out of
them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from auth.roles import Role
from server.call import Call
from server.tool_spec import EDITS, LOOKS, Action, Arguments, tool
from server.tools import _backups
from server.tools._backups import BackupText, BackupVersionsResult, RestoredMemory
from server.tools._lines import describe_change
from server.tools._notes import note_change_entry
from vaults import clock
from vaults.db.sql import Reader
from vaults.domain.notes.edit.edit_results import EditResult
from vaults.domain.notes.edit.reversals import UndoRequest
from vaults.domain.text.fields import Text
from vaults.domain.text.plurals import pluralize
from vaults.errors import InvalidArgument

if TYPE_CHECKING:
    from ops.backup.back_up import MadeBackup
    from ops.backup.backup_runs import BackupRun
    from ops.backup.drill_records import DrillRecord


CALL_SHARE = 0.5
"""Of the time a call may take, what it waits for a backup it asked for. Clients give up sooner than servers."""

MAX_REMARKS = 20
"""Files that are not in a backup of which a call is told."""


class BackupArguments(Arguments):
    action: Annotated[
        Literal["list", "run", "drill", "history", "read", "restore_note", "restore_memory"],
        Field(
            description="run: make one now; drill: prove the newest; history: versions of a note or memory in backups;"
            " read: one of them"
        ),
    ] = "list"
    limit: Annotated[int, Field(ge=1, le=100, description="list, history: of the newest so many")] = 10
    path: Annotated[Text | None, Field(min_length=1, max_length=1024, description="a note")] = None
    id: Annotated[Text | None, Field(min_length=1, max_length=64, description="a memory")] = None
    backup: Annotated[Text, Field(max_length=255, description="its name, by history; default the newest")] = "latest"
    replace: Annotated[bool, Field(description="restore_memory: also where it is there")] = False
    dry_run: Annotated[bool, Field(description="restore_note: only show the diff")] = False


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
class DrillSummary:
    """How the last drill of this vault's newest backup went. ``outcome``: ok, failed, no_backup, begun, or the code of
    what kept it from being held; ``passed``: when one passed last, with the archive or snapshot ``backup``; ``steps``:
    of ``drill``: what was tried, in order; ``failed``: those that were not as they should be."""

    tried: str
    outcome: str
    passed: str | None = None
    backup: str | None = None
    steps: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ScheduleSummary:
    """What is done unasked, and how often. ``keep``: backups that stay; ``to``: what they go to."""

    every: str | None
    keep: str
    drill_every: str | None
    to: Literal["folder", "bucket"] | None


@dataclass(frozen=True, slots=True)
class BackupsResult:
    """Backups of this vault, newest first. ``under_way_since``: one is being made now; ``list`` says how it ended.
    ``remarks``: of ``run``: files that are not in the backup as they lie in the notes folder, and why."""

    backups: list[BackupSummary] = field(default_factory=list)
    under_way_since: str | None = None
    remarks: list[str] = field(default_factory=list)
    drill: DrillSummary | None = None
    schedule: ScheduleSummary | None = None


BackupResult = Annotated[
    BackupsResult | BackupVersionsResult | BackupText | RestoredMemory | EditResult,
    """Of list and run: ``backups``; of list and drill: ``drill``. Of history: ``versions``, newest first, and how many
    backups were looked at. Of read: ``text``. Of restore_note: what every change of a note answers; of restore_memory:
    ``id`` and ``version``.""",
    "backups under_way_since remarks drill schedule versions looked_at without closed left_out text made_at title"
    " version id path etag changed change diff",
]

LOOKS_INTO_BACKUPS = Action(Role.ADMIN)
"""They hold what was deleted since."""


def _head(found: object) -> str:
    match found:
        case BackupVersionsResult():
            left = f" {pluralize(found.left_out, 'older one')} not looked at." if found.left_out else ""
            return f"{pluralize(len(found.versions), 'version')} in {pluralize(found.looked_at, 'backup')}.{left}"
        case EditResult():
            return describe_change(found)
        case RestoredMemory():
            return "There again."
    return ""


@tool(
    role=Role.ADMIN,
    effect=EDITS,
    preset="full",
    head=_head,
    actions={
        "list": LOOKS,
        "run": Action(Role.ADMIN, "write a backup of this vault", dry_run=False),
        "drill": Action(Role.ADMIN, "restore the newest backup aside, to prove it", dry_run=False),
        "history": LOOKS_INTO_BACKUPS,
        "read": LOOKS_INTO_BACKUPS,
        "restore_note": Action(Role.ADMIN, "write a note as a backup has it"),
        "restore_memory": Action(Role.ADMIN, "write a memory as a backup has it", dry_run=False),
    },
    activity_entry=note_change_entry("restored from a backup"),
)
async def backup(call: Call, args: BackupArguments) -> BackupResult:
    """Backups of this vault: how the last ones went, one made or proven now, and what notes and memories said in them.
    Use it before a change that is hard to take back; one that takes long goes on when the call has ended. And when a
    note or memory is spoilt or gone and `history` no longer has it: history, then read, then restore_note or
    restore_memory."""
    return await _HANDLERS[args.action](call, args)


async def _list(call: Call, args: BackupArguments) -> BackupsResult:
    from ops.backup import backup_runs

    vault_id = call.vault.entry.vault_id
    runs = await call.services.control.read(lambda tx: backup_runs.list_runs(tx, vault_id, args.limit))
    return BackupsResult(
        [_summarize(run) for run in runs],
        await _under_way_since(call),
        drill=await _last_drill(call),
        schedule=_schedule(call),
    )


def _schedule(call: Call) -> ScheduleSummary | None:
    settings = call.services.settings.backup
    if settings.every is None and settings.drill_every is None:
        return None
    to: Literal["folder", "bucket"] = "bucket" if (settings.to or "").startswith("s3://") else "folder"
    return ScheduleSummary(settings.every, settings.keep, settings.drill_every, to if settings.to else None)


async def _drill(call: Call, _: BackupArguments) -> BackupsResult:
    from server import backup_drills

    services, entry = call.services, call.vault.entry
    wait_s = CALL_SHARE * services.settings.server.call_timeout_s
    held = await services.requested_backups.run(entry.name, partial(backup_drills.hold, services, entry), wait_s)
    last = await _last_drill(call)
    if last is None or held is None:
        return BackupsResult(drill=last)
    # Their messages name places of the machine, and count what others keep privately.
    failed = [step.name for step in held.steps if not step.ok]
    return BackupsResult(drill=replace(last, steps=[step.name for step in held.steps], failed=failed))


async def _last_drill(call: Call) -> DrillSummary | None:
    from ops.backup import drill_records

    vault_id = call.vault.entry.vault_id

    def read(tx: Reader) -> DrillRecord | None:
        return drill_records.read_all(tx, [vault_id]).get(vault_id)

    last = await call.services.control.read(read)
    return None if last is None else DrillSummary(last.tried, last.outcome, last.passed, last.backup)


async def _run(call: Call, _: BackupArguments) -> BackupsResult:
    services = call.services
    wait_s = CALL_SHARE * services.settings.server.call_timeout_s
    made = await services.requested_backups.run(call.vault.entry.name, partial(_back_up, call), wait_s)
    if made is not None:
        return BackupsResult([_summarize(made.run)], remarks=_list_remarks(made))
    return BackupsResult(under_way_since=await _under_way_since(call) or clock.now())


async def _under_way_since(call: Call) -> str | None:
    from ops.backup.turns import SCRATCH_FOLDER, under_way_since

    scratch = call.services.data / SCRATCH_FOLDER
    return await asyncio.to_thread(under_way_since, scratch, call.vault.entry.vault_id)


async def _restore_note(call: Call, args: BackupArguments) -> EditResult:
    from ops.backup import single_items

    asked = UndoRequest(
        path=_backups.note_path(call, args.path), dry_run=args.dry_run, session=call.session.id, governs=True
    )
    source = await _backups.open_named(call, args.backup)
    with _backups.naming_no_place():
        return await single_items.restore_note(call.vault, call.actor, source, asked)


async def _restore_memory(call: Call, args: BackupArguments) -> RestoredMemory:
    if args.id is None:
        raise InvalidArgument("id", "is required: which memory?")
    return await _backups.restore_memory(call, args.id, args.backup, replacing=args.replace)


async def _back_up(call: Call) -> MadeBackup:
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
    home = replace(home, folder_of=services.pool.folder_of)
    entry = call.vault.entry
    act = AuditEntry("act", "backup", "ok", actor=actor_of(call.caller), action="run", vault=entry.name)
    async with services.audit.acting(act):
        return await back_up_vault(home, entry, order)


def _list_remarks(made: MadeBackup) -> list[str]:
    shown = [f"{each.path}: {each.reason}" for each in made.remarks[:MAX_REMARKS]]
    left = made.remark_count - len(shown)
    return [*shown, *([f"… and {left:,} more"] if left else [])]


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


_HANDLERS: Mapping[str, Callable[[Call, BackupArguments], Awaitable[BackupResult]]] = {
    "list": _list,
    "run": _run,
    "drill": _drill,
    "history": lambda call, args: _backups.find_versions(call, args.path, args.id, args.limit),
    "read": lambda call, args: _backups.read_version(call, args.path, args.id, args.backup),
    "restore_note": _restore_note,
    "restore_memory": _restore_memory,
}
