"""The ONNX Runtime engine: serves a prepared model with onnxruntime and tokenizers alone, without torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from vaults.embed.batches import split_into_batches
from vaults.embed.onnx_session import MAX_TEXTS, TOKENS_PER_RUN, open_session
from vaults.embed.prepared_model import TOKENIZER, PreparedModel

if TYPE_CHECKING:
    import numpy as np


class OnnxEmbedder:
    """One prepared model in ONNX Runtime. Raises EmbeddingUnavailable for a device that it cannot use here."""

    engine: ClassVar[str] = "onnx"

    def __init__(self, prepared: PreparedModel, *, threads: int, device: str = "cpu") -> None:
        from tokenizers import Tokenizer

        self.identity = prepared.identity
        self.max_tokens = prepared.manifest.max_tokens
        self._budget = TOKENS_PER_RUN * threads
        self._pad_id = prepared.manifest.pad_id
        self._tokenizer = Tokenizer.from_file(str(prepared.folder / TOKENIZER))
        # The file pads every text to 128 tokens, which makes a short query three times as expensive.
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self.max_tokens)
        # The bundled model's graph does not lie beside its weights.
        graph = prepared.graph.read_bytes()
        self._session = open_session(graph, weights=prepared.folder, threads=threads, device=device)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        import numpy as np

        # encode() would hold the interpreter's lock, for half a second on a text of 1 MB; the batch calls do not.
        tokens = [text.ids for text in self._tokenizer.encode_batch_fast(list(texts))]
        vectors = np.empty((len(tokens), self.identity.width), dtype=np.float32)
        for rows in split_into_batches([len(ids) for ids in tokens], budget=self._budget, most=MAX_TEXTS):
            vectors[rows] = self._run([tokens[row] for row in rows])
        return vectors

    def close(self) -> None:
        self._session = None

    def _run(self, tokens: list[list[int]]) -> np.ndarray:
        import numpy as np

        shape = (len(tokens), max(map(len, tokens)))
        ids = np.full(shape, self._pad_id, dtype=np.int64)
        mask = np.zeros(shape, dtype=np.int64)
        for row, text in enumerate(tokens):
            ids[row, : len(text)] = text
            mask[row, : len(text)] = 1
        (hidden,) = self._session.run(None, {"input_ids": ids, "attention_mask": mask})
        return _pool_mean(hidden, mask)


def _pool_mean(hidden: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Mean over a text's own tokens, then unit length; in float32 like the original."""
    import numpy as np

    weight = mask[:, :, None].astype(np.float32)
    mean = (hidden * weight).sum(axis=1) / np.maximum(weight.sum(axis=1), 1e-9)
    return cast("np.ndarray", mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12))
