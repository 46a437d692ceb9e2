"""Harvests of the conversations on this machine: where they keep their state, what they leave out, and the one that a
server for one person runs beside its calls.

All harvests into a vault share their state, whoever runs them, so nothing comes twice; two at once exclude each other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import structlog

from auth.principal import Principal
from server.allowance import StoreQuota
from server.call import Call
from server.caller_views import strictest_mode
from server.extraction_model import open_model
from server.services import Services
from server.settings import HarvestSettings
from vaults.domain.actors import Actor
from vaults.domain.import_export.harvesting import Harvester, HarvestReport
from vaults.domain.import_export.line_import import NumberedLine
from vaults.domain.import_export.row_writer import LineOutcome
from vaults.domain.import_export.source_import import Push
from vaults.domain.import_export.vault_import import push_of_day
from vaults.errors import Conflict, StrongroomError
from vaults.registry import STATE_FOLDER
from vaults.settings import ExtractionSettings
from vaults.transcripts.exclusions import HarvestRules
from vaults.transcripts.extraction.kinds import KINDS
from vaults.transcripts.harvest_state import FOLDER, state_folder
from vaults.transcripts.model_extraction.model_kinds import MODEL_KINDS
from vaults.vault import Vault

AFTER_FAILURE_S = 30.0
_LOOK_S, _LONGEST_PAUSE_S = 0.02, 1.0
"""Seconds between two looks whether calls are still served, and after which a harvest goes on all the same."""

NO_EXTRACTION = ExtractionSettings()
"""For passes that somebody waits for: a model is asked by those that run beside the calls, or by themselves."""

log = structlog.get_logger("server.harvests")


def make_harvester(
    settings: HarvestSettings, home: Path, data: Path, target: str, extraction: ExtractionSettings = NO_EXTRACTION
) -> Harvester:
    """The harvest of ``home`` into a vault of the data folder, or into the endpoint ``target``; ``close`` it after its
    last pass. A project's own vault gets the conversations held in the project: what was said elsewhere is none of its
    business. Raises ``InvalidArgument`` for a model's key that cannot be read."""
    state = state_folder(data, target)
    project = data.parent if data.name == STATE_FOLDER and "://" not in target else None
    rules = HarvestRules(patterns=settings.exclude, only=project)
    model = open_model(extraction, data / FOLDER, [kind for kind in MODEL_KINDS if kind in settings.remember])
    return Harvester(home, state, rules, [kind for kind in KINDS if kind in settings.remember], model)


def local_push(services: Services, principal: Principal, vault: Vault) -> Push:
    """What stores the lines of a harvest in a vault of this machine, as its owner."""
    quota, actor = StoreQuota(services, principal, vault, "owner"), Actor("owner", "owner")

    async def push(lines: Sequence[NumberedLine]) -> list[LineOutcome]:
        return (await push_of_day(vault, actor, lines, quota))[1]

    return push


async def harvest_for(call: Call, home: Path, seconds: float) -> HarvestReport:
    """One pass for a call, after one that is under way; it ends after so many seconds, wherever it is."""
    until = time.monotonic() + seconds

    async def may_go_on() -> bool:
        return time.monotonic() < until

    services, vault = call.services, call.vault
    harvester = make_harvester(services.settings.harvest, home, services.data, vault.name)
    push = local_push(services, call.caller.principal, vault)
    return await harvester.run_after_others(push, may_go_on=may_go_on, seconds=seconds)


@dataclass(frozen=True, slots=True)
class BackgroundHarvest:
    """The harvest beside the calls of a server for one person. ``write_mode``: of the connection."""

    services: Services
    principal: Principal
    vault: str
    home: Path
    write_mode: str = "auto"

    async def follow(self) -> None:
        """Harvest until cancelled, in the process that does the vault's background work; never raises."""
        settings = self.services.settings.harvest
        said = ""
        while True:
            await asyncio.sleep(AFTER_FAILURE_S if said else settings.every_s)
            try:
                await self.run_once()
                said = ""
            except (StrongroomError, OSError) as failure:  # the disk is full, a plan used up: that may pass
                reason = failure.message if isinstance(failure, StrongroomError) else str(failure.strerror)
                if reason != said:
                    log.warning("harvest_failed", reason=reason)
                said = reason

    async def run_once(self) -> HarvestReport | None:
        """One pass; None where it is not for this process to run: another has the vault's background work or is at it,
        or nothing may be written unasked."""
        services = self.services
        entry = services.registry_cache.entry(self.vault)
        if strictest_mode(services.settings.server.write_mode, entry.write_mode, self.write_mode) != "auto":
            return None
        async with services.pool.lease(entry) as vault:
            if not vault.background.is_ours():
                return None
            given = services.settings
            harvester = make_harvester(given.harvest, self.home, services.data, self.vault, given.extraction)
            push = local_push(services, self.principal, vault)
            try:
                return await harvester.run(push, may_go_on=partial(_wait_for_calls, services), most_calls=1)
            except Conflict:
                return None
            finally:
                await harvester.close()


async def _wait_for_calls(services: Services) -> bool:
    """Let those who wait for an answer have the vault first."""
    until = time.monotonic() + _LONGEST_PAUSE_S
    while services.quotas.is_serving and time.monotonic() < until:  # noqa: ASYNC110  no call should have to tell it
        await asyncio.sleep(_LOOK_S)
    return True
