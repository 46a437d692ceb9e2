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
    source: str | None  # folder of the original; None when it is not on this machine
    prepared: str | None  # folder of the serving copy
    intact: bool | None  # every digest of the serving copy is right


def load_embedder(settings: EmbeddingSettings) -> Embedder:
    """Load the model. Blocks: 0.2 s with ONNX, 5 s with sentence-transformers. Raises EmbeddingUnavailable."""
    engine, prepared = _decide(settings)
    return LOADERS[engine](settings, prepared)


def model_info(settings: EmbeddingSettings) -> ModelInfo:
    """The model that would be used, from where, and whether its bytes are right. Reads every byte of the copy."""
    engine, prepared = _decide(settings)
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
    """The engine to use. ``auto``: ONNX on the CPU where a copy is ready and the library is installed, else torch."""
    prepared = find_prepared(settings)
    if settings.engine != "auto":
        return settings.engine, prepared
    ready = prepared is not None and settings.device == "cpu" and find_spec("onnxruntime") is not None
    return ("onnx" if ready else "sentence-transformers"), prepared


def _load_onnx(settings: EmbeddingSettings, prepared: PreparedModel | None) -> Embedder:
    if prepared is None:
        raise EmbeddingUnavailable(
            f"There is no intact prepared copy of the model {settings.model}.", hint="Run: strongroom model prepare"
        )
    from vaults.embed.onnx_engine import OnnxEmbedder

    return OnnxEmbedder(prepared, threads=settings.threads)


def _load_torch(settings: EmbeddingSettings, prepared: PreparedModel | None) -> Embedder:  # noqa: ARG001  the original
    from vaults.embed.torch_engine import TorchEmbedder

    source = require_source(settings.model)
    revision = revision_of(source)
    return TorchEmbedder(source, revision, device=settings.device, threads=settings.threads)


def _refuse(settings: EmbeddingSettings, prepared: PreparedModel | None) -> Embedder:  # noqa: ARG001  there is no model
    raise EmbeddingUnavailable("Embeddings are switched off on this server.")


LOADERS: Mapping[EmbeddingEngine, Callable[[EmbeddingSettings, PreparedModel | None], Embedder]] = {
    "onnx": _load_onnx,
    "sentence-transformers": _load_torch,
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
