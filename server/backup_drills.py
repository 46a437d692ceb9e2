"""Drills that a server holds unasked: the newest backup of each vault is restored aside, proven and removed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from auth.keys import KEYS_FOLDER, open_key_ring
from server.services import Services
from vaults import clock
from vaults.db.sql import Writer
from vaults.errors import NotFound, StrongroomError
from vaults.registry import VaultEntry

if TYPE_CHECKING:
    from ops.backup.archive_reader import Opener
    from ops.backup.drill import DrillReport

LOOK_S = 60.0
"""Seconds between two looks whether drills are due."""

DRILLED_AT = "backups_drilled_at"
"""In the table ``installation``: when drills were begun last."""

log = structlog.get_logger("server.backup_drills")


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
        await asyncio.sleep(LOOK_S)
        try:
            if await begin(services):
                await drill_all(services)
        except StrongroomError as failure:  # the disk is full, or the store does not answer: what it was stands there
            log.warning("backup_drills_failed", code=failure.code)


async def begin(services: Services) -> bool:
    """Whether drills are due, and this process is the one to hold them now."""
    latest = datetime.now(UTC) - timedelta(seconds=services.settings.backup.drill_every_s)

    def claim(tx: Writer) -> bool:
        last = tx.value("SELECT value FROM installation WHERE key = :key", {"key": DRILLED_AT})
        now = clock.now()
        if last is not None and latest < datetime.fromisoformat(last) <= datetime.fromisoformat(now):
            return False
        tx.run(
            "INSERT INTO installation (key, value) VALUES (:key, :now)"
            " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            {"key": DRILLED_AT, "now": now},
        )
        return True

    return await services.control.write(claim)


async def drill_all(services: Services) -> list[DrillReport]:
    """Prove the newest backup of each vault, one after the other; a vault without any is passed over. Raises what is
    wrong here rather than with a backup, such as ``StorageFull``."""
    opener = await asyncio.to_thread(_make_opener, services)
    reports = [await _drill(services, entry, opener) for entry in services.registry_cache.entries()]
    return [report for report in reports if report is not None]


async def _drill(services: Services, entry: VaultEntry, opener: Opener) -> DrillReport | None:
    from ops.backup.drill import run_drill
    from ops.backup.references import LATEST, KnownBackups, open_source

    known = KnownBackups(services.settings.backup, services.data, opener, entry.name, entry.vault_id)
    try:
        source = await asyncio.to_thread(open_source, LATEST, known)
    except NotFound:
        return None
    report = await run_drill(source, services.pool, services.settings.storage, services.data)
    failed = [step.name for step in report.steps if not step.ok]
    if report.ok:
        log.info("backup_drilled", vault=entry.name, made_at=report.made_at)
    else:
        log.error("backup_drill_failed", vault=entry.name, made_at=report.made_at, steps=failed)
    return report


def _make_opener(services: Services) -> Opener:
    from ops.backup.archive_reader import Opener
    from ops.backup.signature import trusted_keys

    file = services.settings.backup.drill_identity_file
    lines = Path(file).expanduser().read_text(encoding="utf-8").splitlines() if file else []
    return Opener(
        identities=tuple(line.strip() for line in lines if line.strip() and not line.startswith("#")),
        trusted=trusted_keys(open_key_ring(services.data / KEYS_FOLDER)),
    )
