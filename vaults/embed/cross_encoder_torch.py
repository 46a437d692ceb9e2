"""The sentence-transformers engine of a cross-encoder: any architecture, any device, and PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vaults.embed.batches import BATCH_CHARACTERS, split_into_batches
from vaults.embed.cross_encoder_backend import CrossEncoderOptions, cut_legible, squash_logits
from vaults.embed.model_source import ModelSource
from vaults.embed.models_extra import missing_extra_error, refusing_foreign_code, require_device
from vaults.errors import EmbeddingUnavailable

_MAX_PAIRS = 32  # pairs of one forward pass, however short


class TorchCrossEncoder:
    """A ``CrossEncoder`` with one output."""

    def __init__(self, source: ModelSource, revision: str, options: CrossEncoderOptions, needed: str = "") -> None:
        """``needed`` says why this engine is, where another would do without the extra."""
        try:
            import torch
            from sentence_transformers import CrossEncoder
            from transformers.utils import logging
        except ModuleNotFoundError as error:
            raise missing_extra_error(source.name, needed) from error

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
        self._max_tokens = int(self._model.max_seq_length)
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
        return squash_logits(logits)

    def close(self) -> None:
        self._model = None

    def _legible(self, text: str) -> str:
        return cut_legible(text, self._max_tokens)
