"""What a vault does by itself, in its audit: what expired, was superseded, is over a limit or was read anew."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ops.audit.audit_log import AuditLog
from ops.audit.entries import AuditActor, AuditEntry
from vaults.change_notes import ChangeNotes
from vaults.context import CallContext, bind_call
from vaults.errors import StrongroomError
from vaults.vault import BackgroundJob, SharedResources, Vault

ACTOR = AuditActor("strongroom", "server")
TOOL = "upkeep"


def audit_jobs(shared: SharedResources, audit: AuditLog) -> SharedResources:
    """``shared``, with every job of a vault recorded."""
    return replace(
        shared,
        background_jobs=tuple(audited(audit, job) for job in shared.background_jobs),
        jobs_of_vault=tuple(partial(_make_audited, audit, make) for make in shared.jobs_of_vault),
    )


def _make_audited(audit: AuditLog, make: Callable[[Vault], BackgroundJob], vault: Vault) -> BackgroundJob:
    return audited(audit, make(vault))


def audited(audit: AuditLog, job: BackgroundJob) -> BackgroundJob:
    """The job, of which each run that changed something is an entry. While the audit cannot be written, it waits."""

    async def run(vault: Vault) -> None:
        chain, changes = vault.entry.vault_id, ChangeNotes()
        if audit.chain(chain).failing:
            await audit.require_writable(chain)

        async def record(outcome: str) -> None:
            await changes.settle()
            if changes.count:
                await audit.append_or_owe(chain, _to_entry(vault.name, outcome, changes))

        try:
            with bind_call(CallContext(ACTOR.subject, chain, math.inf, changes=changes)):
                await job.run(vault)
        except StrongroomError as failure:
            await record(failure.code)
            raise
        except BaseException:
            await record("failed")
            raise
        await record("ok")

    return BackgroundJob(job.name, job.is_due, run)


def _to_entry(vault: str, outcome: str, changes: ChangeNotes) -> AuditEntry:
    return AuditEntry(
        kind="act",
        tool=TOOL,
        outcome=outcome,
        actor=ACTOR,
        vault=vault,
        changes=changes.first,
        changed=changes.count,
        changes_digest=changes.digest if changes.count > len(changes.first) else None,
    )
