"""A working day that a model reads, pass by pass."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.conftest import Asking
from tests.vaults.transcripts.model_extraction.completions import Completions
from tests.working_day import WorkingDay
from vaults.domain.actors import Actor
from vaults.domain.import_export.harvesting import Harvester, HarvestReport
from vaults.domain.import_export.vault_import import open_push
from vaults.transcripts.exclusions import HarvestRules
from vaults.transcripts.model_extraction.call_budget import CallBudget
from vaults.transcripts.model_extraction.extraction_setup import ExtractionLimits, ModelSetup
from vaults.transcripts.model_extraction.language_model import LanguageModel
from vaults.transcripts.model_extraction.model_endpoint import ModelEndpoint
from vaults.transcripts.model_extraction.model_kinds import MODEL_KINDS
from vaults.vault import Vault

OWNER = Actor("owner", "owner")
QUIET_S, DAY_S = 900.0, 86_400.0


async def not_waiting(_: float) -> None:
    pass


class HarvestedDay(WorkingDay):
    """A day, and the harvest of it: a new one for each pass, as after a restart."""

    def __init__(self, folder: Path, vault: Vault) -> None:
        super().__init__(folder / "home")
        self.folder, self.vault = folder, vault
        self.now = 1_795_000_000.0
        self.max_calls, self.max_tokens, self.max_characters = 100, None, 60_000
        self.rules = HarvestRules()
        self.path.touch()

    async def pass_by(self, model: LanguageModel, seconds: float = 0.0, most_calls: int | None = None) -> HarvestReport:
        """Time goes by since the last line, and there is a pass."""
        os.utime(self.path, (self.now, self.now))
        self.now += seconds
        limits = ExtractionLimits(MODEL_KINDS, QUIET_S, self.max_characters)
        budget = CallBudget(self.folder / "spent.db", self.max_calls, self.max_tokens, lambda: self.now)
        setup = ModelSetup(model, budget, limits, lambda: self.now)
        harvester = Harvester(self.home, self.folder / "state", self.rules, extraction=setup)
        try:
            async with open_push(self.vault, OWNER, ("harvest", "home")) as push:
                return await harvester.run(push, most_calls=most_calls)
        finally:
            await model.close()


def endpoint(completions: Completions) -> ModelEndpoint:
    return ModelEndpoint(completions.base, "small", None, 30.0, wait=not_waiting)


async def kept(ask: Asking, *, archived: bool = False) -> list[dict[str, Any]]:
    found = await ask("memory_list", workspace="all", include_archived=archived, limit=100)
    return list(found.content["memories"])
