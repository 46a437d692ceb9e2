"""The model that the settings name for ``strongroom harvest``."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from vaults.endpoint_client import check_key, read_key
from vaults.errors import InvalidArgument

if TYPE_CHECKING:
    from vaults.settings import ExtractionSettings
    from vaults.transcripts.model_extraction.extraction_setup import ModelSetup
    from vaults.transcripts.model_extraction.language_model import LanguageModel
    from vaults.transcripts.model_extraction.model_kinds import ModelKind


def open_model(settings: ExtractionSettings, folder: Path, kinds: Collection[ModelKind]) -> ModelSetup | None:
    """Who extracts memories of these kinds; None where nobody is set, or nothing asked for. ``folder``: where all
    harvests of a data folder have their state. Raises ``InvalidArgument`` for a key that cannot be read."""
    from vaults.transcripts.model_extraction.call_budget import CallBudget
    from vaults.transcripts.model_extraction.extraction_setup import ExtractionLimits, ModelSetup

    if not settings.is_configured or not kinds:
        return None
    limits = ExtractionLimits(kinds, settings.quiet_s, settings.max_characters)
    budget = CallBudget(folder / "spent.db", settings.max_calls_a_day, settings.max_tokens_a_day)
    return ModelSetup(_to_model(settings, folder), budget, limits)


def _to_model(settings: ExtractionSettings, folder: Path) -> LanguageModel:
    from server.settings import command_environment
    from vaults.transcripts.model_extraction.model_command import ModelCommand
    from vaults.transcripts.model_extraction.model_endpoint import ModelEndpoint

    if settings.url and settings.model:
        return ModelEndpoint(settings.url, settings.model, _read_key(settings), settings.timeout_s)
    environment = command_environment(settings.pass_environment)
    return ModelCommand(settings.command, environment, folder / "command", settings.timeout_s)


def _read_key(settings: ExtractionSettings) -> str | None:
    name = "extraction.api_key_file" if settings.api_key_file else "extraction.api_key"
    try:
        if settings.api_key_file:
            return read_key(settings.api_key_file)
        return None if settings.api_key is None else check_key(settings.api_key)
    except ValueError as wrong:
        raise InvalidArgument(name, str(wrong)) from None
