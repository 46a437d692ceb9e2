"""The models a vault could be embedded with, tried one after the other on a sample of what it holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vaults.domain.insights.judged_sample import FEWEST, JudgedSample, read_sample
from vaults.domain.maintenance.model_change import DEFAULT
from vaults.embed import bundled
from vaults.embed.model_trial import ModelTrial, TrialRequest, try_apart
from vaults.embed.prepared_model import list_prepared
from vaults.embed.served_models import is_same_model, settings_of
from vaults.index import model_choice
from vaults.settings import EmbeddingSettings
from vaults.vault import Vault

CLEARLY = 0.03
"""How much higher the mean reciprocal place has to be to be worth a change."""

OnTried = Callable[[str, int, int], object]
"""Called with the model that is tried next, how many were, and how many there are."""


@dataclass(frozen=True, slots=True)
class TriedModel:
    """A candidate by the name ``vault update --model`` takes. ``trial``: a string says why there is none."""

    name: str
    shown: str
    serves: bool
    trial: ModelTrial | str

    @property
    def mrr(self) -> float | None:
        """Its quality as one number, where it was judged."""
        quality = None if isinstance(self.trial, str) else self.trial.quality
        return quality.mrr if quality else None


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """What was tried on what. ``better``: the best, if it is clearly better than the one that serves."""

    sample: JudgedSample
    tried: list[TriedModel]
    better: str | None


async def compare(vault: Vault, also: Sequence[str], on_tried: OnTried) -> ModelComparison:
    """Try the models of the server and the vault, the bundled one, prepared ones and those named in ``also``. Behind an
    endpoint only what serves the vault already, or is named, is asked. Changes nothing."""
    own, serving = vault.shared.embedding, await vault.db.read(model_choice.read_serving)
    sample = await vault.db.read(read_sample)
    serves = own if serving is None else settings_of(own, serving)
    candidates = _list_candidates(own, serving, also)
    tried = []
    for number, (name, settings) in enumerate(candidates.items()):
        shown = f"{DEFAULT} ({_shorten(own.model)})" if name == DEFAULT else _shorten(name)
        on_tried(shown, number, len(candidates))
        trial: ModelTrial | str = "embedding.endpoint is not set"
        if settings is not None:
            trial = await try_apart(TrialRequest(settings, sample.judged))
        tried.append(TriedModel(name, shown, bool(settings and serves and is_same_model(settings, serves)), trial))
    return ModelComparison(sample, tried, find_better(sample, tried))


def _list_candidates(
    own: EmbeddingSettings, serving: str | None, also: Sequence[str]
) -> dict[str, EmbeddingSettings | None]:
    """By name, the same model once."""
    here = [bundled.NAME] if bundled.bundled_folder() else []
    here += [each.manifest.model for each in list_prepared(own)]
    is_asked_anyway = serving is None or own.engine != "endpoint"
    named = [*([DEFAULT] if is_asked_anyway and own.engine != "off" else []), *([serving] if serving else []), *also]
    found: dict[str, EmbeddingSettings | None] = {}
    for name in (*named, *here):
        settings = own if name == DEFAULT else settings_of(own, name)
        known = [each for each in found.values() if each is not None]
        if settings is None or not any(is_same_model(settings, each) for each in known):
            found.setdefault(name, settings)
    return found


def find_better(sample: JudgedSample, tried: Sequence[TriedModel]) -> str | None:
    """The model that found most, if it found clearly more than the one that serves and there were enough titles."""
    judged = [each for each in tried if each.mrr is not None]
    serving = next((each.mrr for each in judged if each.serves), None)
    if sample.titles < FEWEST or not judged:
        return None
    best = max(judged, key=lambda each: each.mrr or 0.0)
    return best.name if not best.serves and (serving is None or (best.mrr or 0.0) >= serving + CLEARLY) else None


def _shorten(name: str) -> str:
    """A folder by its own name."""
    return Path(name).name if name.startswith(("/", "~", ".")) else name
