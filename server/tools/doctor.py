"""Looking after a vault: what is wrong, what it is busy with, how it is set, what happened, what can be mended."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from auth.roles import Role
from ops.doctor.check import DoctorCheck, is_well
from ops.doctor.repairs import repair
from ops.doctor.vaults import examine_open
from server import redaction, vault_admin
from server.call import Call
from server.tool_spec import Action, Arguments, tool
from vaults.activity_log.entries import ActivityEntry
from vaults.domain.continuity import activity_report, live_status
from vaults.domain.continuity.activity_report import LoggedCall
from vaults.domain.maintenance import reindexing, vault_status
from vaults.domain.maintenance.vault_status import EmbeddingStatus, IndexStatus, MemoryCounts, NotesStatus

DoctorAction = Literal["health", "diagnosis", "stats", "pipeline", "config", "log", "repair"]

MAX_DETAILS = 20
"""Lines of a check that are told."""

VAULT_SECTIONS = frozenset(
    {"storage", "embedding", "index", "search", "notes", "rerank", "expansion", "sessions", "telemetry", "hygiene"}
)
"""Sections that say how vaults behave. The others are about the server, and for admins of every vault."""


class DoctorArguments(Arguments):
    action: Annotated[DoctorAction, Field(description="health: what is wrong; diagnosis: every check")] = "health"
    limit: Annotated[int, Field(ge=1, le=200, description="log: events at most")] = 50
    failed: Annotated[bool, Field(description="log: only calls that failed")] = False


@dataclass(frozen=True, slots=True)
class VaultStats:
    """What the vault holds. ``rows``: of each table of work."""

    memories: MemoryCounts
    notes: int
    passages: int
    vectors: int
    storage_bytes: int
    rows: dict[str, int]


@dataclass(frozen=True, slots=True)
class PipelineStatus:
    """What is under way. ``working``: vectors or chores are being done here; ``leads``: this process does the vault's
    background work; ``reindexing``: it was asked for and is not done; ``events_lost``: calls the activity log could not
    take."""

    embedding: EmbeddingStatus
    index: IndexStatus
    notes: NotesStatus
    working: bool
    leads: bool
    reindexing: bool
    events_lost: int


@dataclass(frozen=True, slots=True)
class DoctorResult:
    """The section that was asked for. ``well``: nobody has to do anything."""

    action: str
    well: bool | None = None
    health: float | None = None
    checks: list[DoctorCheck] = field(default_factory=list)
    stats: VaultStats | None = None
    pipeline: PipelineStatus | None = None
    config: dict[str, Any] | None = None
    events: list[LoggedCall] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)


def _activity_entry(args: DoctorArguments, found: DoctorResult) -> ActivityEntry | None:
    return (
        ActivityEntry("tool_call", None, f"repaired the vault: {len(found.repaired)} things")
        if args.action == "repair"
        else None
    )


@tool(
    role=Role.ADMIN,
    preset="full",
    actions={
        **dict.fromkeys(get_args(DoctorAction), Action(Role.ADMIN)),
        "repair": Action(Role.ADMIN, "repair what can be repaired in this vault without losing anything"),
    },
    activity_entry=_activity_entry,
)
async def doctor(call: Call, args: DoctorArguments) -> DoctorResult:
    """Look after this vault. Use it when something fails or seems slow: what is wrong and what helps, sizes, what is
    under way, settings, the newest calls, and safe repairs."""
    return await _HANDLERS[args.action](call, args)


async def _health(call: Call, args: DoctorArguments) -> DoctorResult:
    return await _doctor_result(call, args.action, every=False)


async def _diagnosis(call: Call, args: DoctorArguments) -> DoctorResult:
    return await _doctor_result(call, args.action, every=True)


async def _doctor_result(call: Call, action: str, *, every: bool, repaired: list[str] | None = None) -> DoctorResult:
    await call.vault.activity_log.flush()
    checks = await examine_open(call.vault, call.actor)
    told = [_shorten_details(each) for each in checks if every or each.status != "ok"]
    return DoctorResult(
        action, is_well(checks), await call.vault.db.read(live_status.measure_health), told, repaired=repaired or []
    )


def _shorten_details(check: DoctorCheck) -> DoctorCheck:
    more = len(check.details) - MAX_DETAILS
    details = [*check.details[:MAX_DETAILS], *([f"… and {more:,} more"] if more > 0 else [])]
    return DoctorCheck(
        name=check.name, status=check.status, message=check.message, todo=check.todo, details=details, vault=check.vault
    )


async def _stats(call: Call, args: DoctorArguments) -> DoctorResult:
    await call.vault.activity_log.flush()
    found = await vault_status.read_status(call.vault, call.actor)
    rows = await call.vault.db.read(activity_report.count_rows)
    index, size = found.index, found.storage_bytes
    return DoctorResult(
        args.action,
        stats=VaultStats(
            memories=found.memories,
            notes=found.notes.notes,
            passages=index.passages,
            vectors=index.vectors,
            storage_bytes=size,
            rows=rows,
        ),
    )


async def _pipeline(call: Call, args: DoctorArguments) -> DoctorResult:
    vault = call.vault
    found = await vault_status.read_status(vault, call.actor)
    busy = PipelineStatus(
        found.embedding,
        found.index,
        found.notes,
        working=vault.background.is_busy,
        leads=vault.lease.held,
        reindexing=await vault.db.read(reindexing.is_reindex_pending),
        events_lost=vault.activity_log.lost,
    )
    return DoctorResult(args.action, pipeline=busy)


async def _config(call: Call, args: DoctorArguments) -> DoctorResult:
    everything = vault_admin.is_admin_everywhere(call.services, call.caller.principal)
    shown = redaction.redact_settings(call.services.settings, None if everything else VAULT_SECTIONS)
    return DoctorResult(args.action, config=dict(shown))


async def _log(call: Call, args: DoctorArguments) -> DoctorResult:
    return DoctorResult(
        args.action,
        events=await activity_report.list_recent_calls(call.vault, call.actor, args.limit, failed=args.failed),
    )


async def _repair(call: Call, args: DoctorArguments) -> DoctorResult:
    return await _doctor_result(call, args.action, every=False, repaired=await repair(call.vault))


_HANDLERS: dict[str, Callable[[Call, DoctorArguments], Awaitable[DoctorResult]]] = {
    "health": _health,
    "diagnosis": _diagnosis,
    "stats": _stats,
    "pipeline": _pipeline,
    "config": _config,
    "log": _log,
    "repair": _repair,
}

WAIT_S = 20.0
"""Seconds a call waits for the index to be built; it goes on without the call."""

POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class ReindexProgress:
    """``done`` false: it goes on in the background. ``pending``: passages without a vector yet."""

    done: bool
    memories: int
    notes: int
    passages: int
    pending: int


def _reindexed_text(found: ReindexProgress) -> str:
    counts = f"{found.memories:,} memories, {found.notes:,} notes, {found.passages:,} passages"
    if not found.done:
        return f"It goes on in the background; doctor with action pipeline says when it is done. So far: {counts}."
    return f"Built anew: {counts}, {found.pending:,} without a vector yet."


@tool(
    role=Role.ADMIN,
    summary="build this vault's index anew",
    preset="full",
    render=_reindexed_text,
    activity_entry=lambda _args, found: ActivityEntry(
        "tool_call", None, "built the index anew" if found.done else "began to reindex"
    ),
)
async def reindex(call: Call, args: Arguments) -> ReindexProgress:  # noqa: ARG001  every tool has the same shape
    """Build the search index anew from memories and notes; nothing is lost, search goes on meanwhile. Use it when
    doctor says so, or when search misses what is surely there."""
    vault = call.vault
    await reindexing.request_reindex(vault)
    until = time.monotonic() + WAIT_S
    while owed := await vault.db.read(reindexing.is_reindex_pending):
        if time.monotonic() > until:
            break
        await call.caller.progress(WAIT_S - (until - time.monotonic()), None, "building the index")
        await asyncio.sleep(POLL_S)
    found = await vault_status.read_status(vault, call.actor)
    counts = found.memories.living, found.notes.notes, found.index.passages, found.embedding.pending
    return ReindexProgress(not owed, *counts)
