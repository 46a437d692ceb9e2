"""Whether the embedding endpoint answers, with which model, and what is sent there. Blocking; it is sent one text."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ops.doctor.check import CheckStatus, DoctorCheck
from vaults.embed.endpoint_engine import probe_endpoint
from vaults.embed.endpoint_stamps import StampedModel, find_same, read_stamps, stamps_folder
from vaults.embed.prefixes import prefixes_of
from vaults.errors import EmbeddingUnavailable
from vaults.settings import EmbeddingSettings

NAME = "model"
LONGEST_S = 10.0
"""Seconds it may take: longer than a model takes to be loaded, mostly."""


def check_endpoint(settings: EmbeddingSettings, data: Path) -> DoctorCheck:
    """``data``: the folder of all data, where the models that were seen are remembered."""
    brief = settings.model_copy(update={"timeout_s": min(settings.timeout_s, LONGEST_S)})
    known: list[StampedModel] = []
    try:
        known = read_stamps(stamps_folder(data), settings.model, prefixes_of(settings))
        with ThreadPoolExecutor(1) as apart:  # here may be an event loop already
            vector = apart.submit(probe_endpoint, brief).result()
    except EmbeddingUnavailable as failure:
        todo = "search is by keyword until it answers; what is stored meanwhile gets its vectors then"
        return DoctorCheck(NAME, "warning", f"{failure.message}; {_where(settings)}", todo, _seen(known))
    same = find_same(known, vector)
    if known and same is None:
        message = f"the endpoint's {settings.model} is another model than before; {_where(settings)}"
        todo = "serve the one before again, or let every vault be embedded anew, which a running server does by itself"
        return DoctorCheck(NAME, "warning", message, todo, _seen(known))
    status: CheckStatus = "ok" if settings.is_endpoint_private else "notice"
    message = f"{settings.model}, {len(vector):,} numbers wide, by endpoint; {_where(settings)}"
    todo = "" if settings.is_endpoint_private else "use https: what is stored and searched for can be read on the way"
    return DoctorCheck(NAME, status, message, todo, _seen(known) if len(known) > 1 else [])


def _where(settings: EmbeddingSettings) -> str:
    unencrypted = "" if settings.is_endpoint_private else ", unencrypted"
    return f"what is stored and searched for goes to {settings.endpoint_place}{unencrypted}"


def _seen(known: list[StampedModel]) -> list[str]:
    """A line for each model that was behind this name."""
    return [f"seen from {each.first_seen}: {len(each.vector):,} numbers wide, {each.revision[:12]}" for each in known]
