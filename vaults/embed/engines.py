"""Which engine serves the configured model, and what is known about the model without loading it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from vaults.embed import bundled
from vaults.embed.backend import Embedder
from vaults.embed.model_source import ModelSource, find_source, require_source, revision_of
from vaults.embed.models_extra import missing_extra_error
from vaults.embed.prepared_model import PreparedModel, find_prepared
from vaults.errors import EmbeddingUnavailable
from vaults.settings import EmbeddingEngine, EmbeddingSettings


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What ``strongroom model info`` shows. None where only loading the model would tell."""

    engine: EmbeddingEngine
    model: str
    revision: str | None
    width: int | None
    max_tokens: int | None
    source: str | None  # folder of the original, or address of the endpoint; None when it is not on this machine
    prepared: str | None  # folder it is served from: its own, or that of the serving copy
    intact: bool | None  # every digest there is right


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """What is to be loaded. ``stamps``: folder in which models behind endpoints are remembered; None: they are not."""

    settings: EmbeddingSettings
    prepared: PreparedModel | None
    stamps: Path | None


def load_embedder(settings: EmbeddingSettings, stamps: Path | None = None) -> Embedder:
    """Load the model. Blocks: 0.2 s with ONNX, 5 s with sentence-transformers, one call of an endpoint. Raises
    EmbeddingUnavailable."""
    engine, prepared = _decide(settings)
    return LOADERS[engine](ChosenModel(settings, prepared, stamps))


def require_servable(settings: EmbeddingSettings) -> None:
    """Raises ``EmbeddingUnavailable`` where the model could not be loaded here, and says what it needs. Loads none, but
    sends one text to an endpoint, in a thread without an event loop."""
    engine, prepared = _decide(settings)
    if engine == "endpoint":
        from vaults.embed.endpoint_engine import probe_endpoint

        probe_endpoint(settings)
    elif prepared is None:
        require_source(settings.model)
        if engine == "onnx":
            raise unprepared_error(settings.model)
        if find_spec("sentence_transformers") is None:
            raise missing_extra_error(settings.model)


def model_info(settings: EmbeddingSettings) -> ModelInfo:
    """The model that would be used, from where, and whether its bytes are right. Reads every byte of the copy; asks no
    endpoint."""
    engine, prepared = _decide(settings)
    if engine == "endpoint":
        return _describe_endpoint(settings)
    source = find_source(settings.model)
    folder = str(source.folder) if source else None
    if prepared is not None:
        manifest = prepared.manifest
        return ModelInfo(
            engine=engine,
            model=manifest.name,
            revision=manifest.revision,
            width=manifest.width,
            max_tokens=manifest.max_tokens,
            source=folder,
            prepared=str(prepared.folder),
            intact=prepared.is_intact(),
        )
    name = source.name if source else settings.model
    revision = revision_of(source) if source else None
    width, max_tokens = _declared_limits(source)
    return ModelInfo(
        engine=engine,
        model=name,
        revision=revision,
        width=width,
        max_tokens=max_tokens,
        source=folder,
        prepared=None,
        intact=None,
    )


def _decide(settings: EmbeddingSettings) -> tuple[EmbeddingEngine, PreparedModel | None]:
    """The engine to use. ``auto``: ONNX on the CPU for the bundled model and prepared ones, where the library is
    installed, else torch."""
    if settings.engine == "endpoint":
        return settings.engine, None
    prepared = find_prepared(settings)
    if settings.engine != "auto":
        return settings.engine, prepared
    ready = prepared is not None and settings.device == "cpu" and find_spec("onnxruntime") is not None
    return ("onnx" if ready else "sentence-transformers"), prepared


def _describe_endpoint(settings: EmbeddingSettings) -> ModelInfo:
    return ModelInfo(
        engine="endpoint",
        model=settings.model,
        revision=None,
        width=None,
        max_tokens=None,
        source=settings.endpoint_place,
        prepared=None,
        intact=None,
    )


def unprepared_error(model: str) -> EmbeddingUnavailable:
    """The error for a model without a serving copy, where only such are served."""
    return EmbeddingUnavailable(
        f"There is no intact prepared copy of the model {model}.", hint="Run: strongroom model prepare"
    )


def _load_onnx(chosen: ChosenModel) -> Embedder:
    if chosen.prepared is None:
        raise unprepared_error(chosen.settings.model)
    from vaults.embed.onnx_engine import OnnxEmbedder

    return OnnxEmbedder(chosen.prepared, threads=chosen.settings.threads, device=chosen.settings.device)


def _load_torch(chosen: ChosenModel) -> Embedder:
    from vaults.embed.torch_engine import TorchEmbedder

    source = require_source(chosen.settings.model)
    revision = revision_of(source)
    return TorchEmbedder(source, revision, device=chosen.settings.device, threads=chosen.settings.threads)


def _open_endpoint(chosen: ChosenModel) -> Embedder:
    from vaults.embed.endpoint_engine import EndpointEmbedder

    return EndpointEmbedder(chosen.settings, chosen.stamps)


def _refuse(_chosen: ChosenModel) -> Embedder:
    raise EmbeddingUnavailable("Embeddings are switched off on this server.")


LOADERS: Mapping[EmbeddingEngine, Callable[[ChosenModel], Embedder]] = {
    "onnx": _load_onnx,
    "sentence-transformers": _load_torch,
    "endpoint": _open_endpoint,
    "off": _refuse,
}
"""What loads each engine. A loader imports its library when it is called: a server that uses another never pays."""


def _declared_limits(source: ModelSource | None) -> tuple[int | None, int | None]:
    """Width and tokens as the model's own configuration states them."""
    if source is None:
        return None, None
    if source.is_bundled:
        return bundled.WIDTH, bundled.MAX_TOKENS
    pooling = _read_json(source.folder / "1_Pooling" / "config.json")
    width = pooling.get("word_embedding_dimension", pooling.get("embedding_dimension"))
    return width, _read_json(source.folder / "sentence_bert_config.json").get("max_seq_length")


def _read_json(path: Path) -> dict[str, int]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return {key: value for key, value in found.items() if type(value) is int} if isinstance(found, dict) else {}
