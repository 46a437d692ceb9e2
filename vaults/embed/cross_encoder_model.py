"""Loads the cross-encoder, which reads query and text together. From local files only."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

from vaults.embed.cross_encoder_backend import CrossEncoderOptions, Scorer
from vaults.embed.cross_encoder_files import BertWeights, OnnxFiles, find_onnx_files, is_cross_encoder
from vaults.embed.digests import sha256_of
from vaults.embed.model_source import ModelSource, find_source, revision_of
from vaults.embed.models_extra import missing_onnx_error
from vaults.errors import EmbeddingUnavailable


def load_cross_encoder(options: CrossEncoderOptions) -> Scorer:
    """Load the model: by ONNX Runtime on the processor, where its files allow it, else by sentence-transformers.

    Blocks: 0.5 s with ONNX, 5 s with sentence-transformers. Raises EmbeddingUnavailable when it is absent, is no
    cross-encoder, or needs an extra.
    """
    source = _require_source(options.model or "")
    if not is_cross_encoder(source.folder):
        # The library would give it a head of random weights, and every search a random order.
        raise EmbeddingUnavailable(f"The model {source.name} is not a cross-encoder.")
    if options.device != "cpu":
        return _load_torch(source, options, f"it is to run on {options.device}")
    files = find_onnx_files(source.name, source.folder)
    if isinstance(files, str):
        return _load_torch(source, options, files)
    if isinstance(files.graph, BertWeights) and not _has("onnx"):
        if not _has("sentence_transformers"):
            raise missing_onnx_error(source.name)
        return _load_torch(source, options, "onnx is not installed")
    return _load_onnx(source, files, options)


def _load_onnx(source: ModelSource, files: OnnxFiles, options: CrossEncoderOptions) -> Scorer:
    from vaults.embed.cross_encoder_onnx import OnnxCrossEncoder

    total = hashlib.sha256()
    for path in files.used:
        total.update(f"{path.name} {sha256_of(path)}\n".encode())
    return OnnxCrossEncoder(source.name, total.hexdigest(), files, options)


def _load_torch(source: ModelSource, options: CrossEncoderOptions, needed: str) -> Scorer:
    from vaults.embed.cross_encoder_torch import TorchCrossEncoder

    return TorchCrossEncoder(source, revision_of(source), options, needed)


def _has(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ValueError:  # it was taken out of reach
        return False


def _require_source(model: str) -> ModelSource:
    named = "/" in model or Path(model).expanduser().is_dir()
    source = find_source(model if named else f"cross-encoder/{model}")
    if source is None:
        raise EmbeddingUnavailable(
            f"The reranking model {model} is not on this machine.",
            hint="Put the model's folder here and name its path in rerank.model.",
        )
    return source
