"""Drills that a server holds, unasked or for who asks: the newest backup of a vault is restored aside, proven and
removed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from server.services import Services
from vaults.db.lease import Lease
from vaults.errors import Conflict, NotFound, StrongroomError
from vaults.registry import VaultEntry

if TYPE_CHECKING:
    from ops.backup.archive_reader import Opener
    from ops.backup.drill import DrillStep

LOOK_S = 60.0
"""Seconds between two looks whether drills are due."""

WAIT_S = 10.0
"""Seconds that a drill somebody asked for waits for the one before it."""

POLL_S = 0.05

LOCK_FILE = ".drilling"
"""In the data folder: held by the one process that holds drills, for as long as it is alive."""

log = structlog.get_logger("server.backup_drills")


@dataclass(frozen=True, slots=True)
class HeldDrill:
    """How the drill of a vault's newest backup went. ``outcome``: ``ok``, ``failed``, ``no_backup``, or the code of
    what kept it from being held; ``backup``: its name, where there was one; ``steps``: what was tried."""

    outcome: str
    backup: str | None = None
    steps: Sequence[DrillStep] = ()


@asynccontextmanager
async def keep_drilling(services: Services) -> AsyncIterator[None]:
    """Hold drills as ``backup.drill_every`` says, as long as the block runs."""
    if services.settings.backup.drill_every is None:
        yield
        return
    looking = asyncio.create_task(_run(services), name="backup-drills")
    try:
        yield
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


async def _run(services: Services) -> None:
    while True:
        try:
            await services.defects.outlive("drills", look(services))
        except StrongroomError as failure:  # control.db cannot be read or written: that is no vault's fault
            log.warning("backup_drills_not_looked_after", code=failure.code)
        await asyncio.sleep(LOOK_S)


async def look(services: Services) -> int:
    """Hold the drills that are due, one after the other, unless another process is at it; returns how many."""
    lease, held = Lease(services.data / LOCK_FILE), 0
    await tell_standing(services)
    if not lease.try_acquire():
        return 0
    try:
        while (entry := await _claim(services)) is not None:
            await _record(services, entry, await _drill(services, entry))
            await tell_standing(services)
            held += 1
    finally:
        lease.release()
    return held


async def hold(services: Services, entry: VaultEntry) -> HeldDrill:
    """Hold a drill of one vault now, whether it is due or not. Raises ``Conflict`` where another goes on for longer
    than one waits: each takes as much room as its vault."""
    from ops.backup import drill_records

    lease, until = Lease(services.data / LOCK_FILE), time.monotonic() + WAIT_S
    while not lease.try_acquire():
        if time.monotonic() > until:
            raise Conflict("a drill is being held", hint="ask again when it has ended")
        await asyncio.sleep(POLL_S)
    try:
        await services.control.write_uncounted(lambda tx: drill_records.record(tx, entry.vault_id, drill_records.BEGUN))
        held = await _drill(services, entry)
        await _record(services, entry, held)
    finally:
        lease.release()
    await tell_standing(services)
    return held


async def tell_standing(services: Services) -> None:
    """Have the metrics show how drills stand."""
    from ops.backup import drill_records

    if (metrics := services.recorders.metrics) is None:
        return
    ids = [each.vault_id for each in services.registry_cache.entries()]
    records = await services.control.read(lambda tx: drill_records.read_all(tx, ids))
    standing = drill_records.summarise(records)
    metrics.on_drills(standing.failing, standing.age_s, services.settings.backup.drill_every_s)


async def _claim(services: Services) -> VaultEntry | None:
    from ops.backup import drill_records

    entries = {each.vault_id: each for each in services.registry_cache.entries()}
    every_s = services.settings.backup.drill_every_s
    claimed = await services.control.write_uncounted(lambda tx: drill_records.claim(tx, entries, every_s))
    return None if claimed is None else entries[claimed]


async def _record(services: Services, entry: VaultEntry, held: HeldDrill) -> None:
    from ops.backup import drill_records

    await services.control.write_uncounted(
        lambda tx: drill_records.record(tx, entry.vault_id, held.outcome, held.backup)
    )
    if services.recorders.metrics is not None:
        services.recorders.metrics.on_drill(held.outcome)


async def _drill(services: Services, entry: VaultEntry) -> HeldDrill:
    from ops.backup.drill import DrillGround, run_drill
    from ops.backup.drill_records import FAILED, NO_BACKUP, PASSED
    from ops.backup.references import KnownBackups, open_latest
    from server.backups import make_opener

    settings = services.settings
    ground = DrillGround(services.pool, settings.storage, services.data, settings.backup.bytes_per_s)
    try:
        opener: Opener = await asyncio.to_thread(make_opener, settings, services.data)
        known = KnownBackups(settings.backup, services.data, opener, entry.name, entry.vault_id)
        backup, source = await asyncio.to_thread(open_latest, known)
        report = await run_drill(source, ground)
    except NotFound:
        return HeldDrill(NO_BACKUP)
    except StrongroomError as failure:  # the disk is full, a key cannot be read, or the store does not answer
        log.warning("backup_drill_not_held", vault=entry.name, code=failure.code)
        return HeldDrill(failure.code)
    except Exception:  # a defect must not end the drills of the other vaults
        log.exception("backup_drill_defect", vault=entry.name)
        return HeldDrill("internal")
    if report.ok:
        log.info("backup_drilled", vault=entry.name, made_at=report.made_at)
        return HeldDrill(PASSED, backup, report.steps)
    failed = [step.name for step in report.steps if not step.ok]
    log.error("backup_drill_failed", vault=entry.name, made_at=report.made_at, steps=failed)
    return HeldDrill(FAILED, backup, report.steps)
