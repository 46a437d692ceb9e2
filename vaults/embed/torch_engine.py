"""The sentence-transformers engine: any model it can load. 5 s and 490 MB where ONNX takes 0.2 s and 190."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from vaults.embed.backend import RECIPE, ModelIdentity
from vaults.embed.batches import BATCH_CHARACTERS, split_into_batches
from vaults.embed.model_source import ModelSource
from vaults.embed.models_extra import missing_extra_error, refusing_foreign_code, require_device

if TYPE_CHECKING:
    import numpy as np

_MAX_TEXTS = 64  # texts of one forward pass, however short


def load_sentence_transformer(folder: Path, *, device: str, threads: int) -> Any:
    """Load the ``SentenceTransformer`` in ``folder``: always as float32, without network or progress bar. Raises
    EmbeddingUnavailable where the libraries are not installed, for a device that is not there, and for a model that
    brings code of its own."""
    try:
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging
    except ModuleNotFoundError as error:
        raise missing_extra_error(folder.name) from error

    require_device(torch, device)
    # More threads than free cores stall one another: two on a busy machine are ten times slower than one.
    torch.set_num_threads(threads)
    logging.disable_progress_bar()
    with refusing_foreign_code(folder.name):
        model = SentenceTransformer(str(folder), device=device, local_files_only=True, trust_remote_code=False)
    return model.float().eval()


class TorchEmbedder:
    """One model in torch."""

    engine: ClassVar[str] = "sentence-transformers"

    def __init__(self, source: ModelSource, revision: str, *, device: str, threads: int) -> None:
        self._model = load_sentence_transformer(source.folder, device=device, threads=threads)
        width = int(self._model.get_embedding_dimension())
        self.identity = ModelIdentity(source.name, revision, width, normalised=True, recipe=RECIPE)
        self.max_tokens = int(self._model.max_seq_length or 512)

    @property
    def model(self) -> Any:
        """The library's own object, which ``onnx_export`` copies."""
        return self._model

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        import numpy as np

        vectors = np.empty((len(texts), self.identity.width), dtype=np.float32)
        for rows in split_into_batches([len(text) for text in texts], budget=BATCH_CHARACTERS, most=_MAX_TEXTS):
            group = [texts[row] for row in rows]
            vectors[rows] = self._model.encode(group, batch_size=len(group), show_progress_bar=False)
        # Models that end without a normalising layer, and those that ran in bfloat16, are not of unit length.
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return cast("np.ndarray", vectors / np.maximum(norms, 1e-12))

    def close(self) -> None:
        self._model = None
