"""Imports a source into a vault of this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from vaults.domain.actors import Actor
from vaults.domain.import_export import import_runs
from vaults.domain.import_export.import_runs import ImportRun
from vaults.domain.import_export.line_import import NumberedLine, import_lines, prepare_lines
from vaults.domain.import_export.line_rights import OWNER_RIGHTS, LineRights
from vaults.domain.import_export.row_writer import LineOutcome
from vaults.domain.import_export.source_import import ImportPlan, ImportTally, OnBatch, Prepare, Push, import_source
from vaults.domain.memories.quotas import UNLIMITED, Quota
from vaults.vault import Vault

TRANSCRIPT_RUNS = "transcripts"
"""Name of the runs that transcripts belong to."""


async def import_into_vault(
    vault: Vault, actor: Actor, plan: ImportPlan, progress: OnBatch = lambda _: None, quota: Quota = UNLIMITED
) -> ImportTally:
    """Store every record of a source that is new or changed there, as one run that can be undone. Vectors are queued:
    whatever is stored is found by its words. Raises ``InvalidArgument`` for what is no such source, ``StorageFull``,
    and ``QuotaExceeded``: what the last tally counted is in the vault, and the same import goes on from there."""
    async with open_push(vault, actor, (plan.source.name, str(plan.path.absolute())), quota) as push:
        return await import_source(plan, push, progress, preparing_for(vault, actor))


def preparing_for(vault: Vault, actor: Actor) -> Prepare:
    """What prepares lines for ``open_push``."""

    async def prepare(lines: Sequence[NumberedLine]) -> Sequence[NumberedLine]:
        return await prepare_lines(vault, actor, lines, OWNER_RIGHTS)

    return prepare


@asynccontextmanager
async def open_push(
    vault: Vault, actor: Actor, origin: tuple[str, str], quota: Quota = UNLIMITED
) -> AsyncIterator[Push]:
    """What stores lines in a vault, as one run. ``origin``: the source's name, and where it was read, for people."""
    run = await vault.db.write(lambda tx: import_runs.begin(tx, actor, *origin))

    async def push(lines: Sequence[NumberedLine]) -> list[LineOutcome]:
        return await import_lines(vault, actor, run, lines, quota, OWNER_RIGHTS)

    try:
        yield push
        await vault.db.write(lambda tx: import_runs.end(tx, run.seq))
    finally:
        vault.start_background_work()


async def push_of_day(
    vault: Vault,
    actor: Actor,
    lines: Sequence[NumberedLine],
    quota: Quota = UNLIMITED,
    rights: LineRights = OWNER_RIGHTS,
) -> tuple[ImportRun, list[LineOutcome]]:
    """Store lines of transcripts, as the actor's run of this day: they come in small pieces all day, from several
    programs, and a day of them can be taken back."""
    run = await vault.db.write(lambda tx: import_runs.begin_of_day(tx, actor, TRANSCRIPT_RUNS))
    outcomes = await import_lines(vault, actor, run, lines, quota, rights) if lines else []
    vault.start_background_work()
    return run, outcomes
