"""The cross-encoder: one torch model reads query and text together. Loaded from local files only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from vaults.embed.batches import BATCH_CHARACTERS, split_into_batches
from vaults.embed.model_source import ModelSource, find_source, revision_of
from vaults.embed.models_extra import missing_extra_error, refusing_foreign_code, require_device
from vaults.errors import EmbeddingUnavailable

_MAX_PAIRS = 32  # pairs of one forward pass, however short
_CHARACTERS_PER_TOKEN = 16  # beyond that a text is not even tokenised: no prose has tokens that long
_HEADS = ("ForSequenceClassification", "ForCausalLM")  # architectures that come with trained weights for a score


@dataclass(frozen=True, slots=True)
class CrossEncoderOptions:
    """Which model, and its bounds."""

    model: str | None
    """A folder or a name, None for none; a bare name means ``cross-encoder/``."""
    device: str
    threads: int
    max_tokens: int
    """Of query and text together; never more than the model reads."""
    timeout_s: float
    """Seconds one ``score`` may take."""
    cache: int
    """Scores kept."""


class Scorer(Protocol):
    """One loaded model. Used by one thread at a time."""

    @property
    def identity(self) -> str:
        """Name and digest: scores of equal identity are comparable."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query, 0…1, in the order given. Blocks."""

    def close(self) -> None:
        """Free the memory. The scorer is not used again."""


def load_cross_encoder(options: CrossEncoderOptions) -> Scorer:
    """Load the model. Blocks for seconds. Raises EmbeddingUnavailable when it is absent or is no cross-encoder."""
    source = _require_source(options.model or "")
    if not _is_cross_encoder(source.folder):
        # The library would give it a head of random weights, and every search a random order.
        raise EmbeddingUnavailable(f"The model {source.name} is not a cross-encoder.")
    return CrossEncoderModel(source, revision_of(source), options)


class CrossEncoderModel:
    """A ``CrossEncoder`` with one output."""

    def __init__(self, source: ModelSource, revision: str, options: CrossEncoderOptions) -> None:
        try:
            import torch
            from sentence_transformers import CrossEncoder
            from transformers.utils import logging
        except ModuleNotFoundError as error:
            raise missing_extra_error(source.name) from error

        require_device(torch, options.device)
        # This sets it for the whole process, so it must be the embedding model's number.
        torch.set_num_threads(options.threads)
        logging.disable_progress_bar()
        with refusing_foreign_code(source.name):
            found = CrossEncoder(
                str(source.folder), device=options.device, local_files_only=True, trust_remote_code=False
            )
        self._model: Any = found.float().eval()
        if self._model.num_labels != 1:
            raise EmbeddingUnavailable(f"The model {source.name} gives classes, not a score.")
        self._model.max_seq_length = min(self._model.max_seq_length or options.max_tokens, options.max_tokens)
        self._characters = _CHARACTERS_PER_TOKEN * int(self._model.max_seq_length)
        self._raw = torch.nn.Identity()
        self.identity = f"{source.name}@{revision[:16]}"

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        import numpy as np

        question, passages = self._legible(query), [self._legible(text) for text in texts]
        logits = np.empty(len(texts), dtype=np.float64)
        for rows in split_into_batches(
            [len(question) + len(text) for text in passages], budget=BATCH_CHARACTERS, most=_MAX_PAIRS
        ):
            pairs = [(question, passages[row]) for row in rows]
            # Whether the library applies a sigmoid by itself depends on the model's files: ask for none, apply one.
            logits[rows] = self._model.predict(
                pairs, batch_size=len(pairs), activation_fn=self._raw, show_progress_bar=False
            )
        return cast("list[float]", (0.5 * (1 + np.tanh(0.5 * logits))).tolist())

    def close(self) -> None:
        self._model = None

    def _legible(self, text: str) -> str:
        """``text`` in a form the tokenizer accepts: it refuses a lone surrogate, and with it the whole batch."""
        return text[: self._characters].encode("utf-8", "replace").decode("utf-8")


def _require_source(model: str) -> ModelSource:
    named = "/" in model or Path(model).expanduser().is_dir()
    source = find_source(model if named else f"cross-encoder/{model}")
    if source is None:
        raise EmbeddingUnavailable(
            f"The reranking model {model} is not on this machine.",
            hint="Put the model's folder here and name its path in rerank.model.",
        )
    return source


def _is_cross_encoder(folder: Path) -> bool:
    """Whether the model's own files say so. Older cross-encoders are plain classifiers without a list of modules."""
    if (folder / "modules.json").is_file():
        return _read_json(folder / "config_sentence_transformers.json").get("model_type") == "CrossEncoder"
    architectures = _read_json(folder / "config.json").get("architectures")
    return isinstance(architectures, list) and any(str(name).endswith(_HEADS) for name in architectures)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
