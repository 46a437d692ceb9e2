"""Stand-ins with real behaviour: deterministic, without a model, a clock or a network."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from vaults.embed.backend import RECIPE, ModelIdentity


class HashEmbedder:
    """Bag of hashed words: texts that share words are near each other, equal texts are equal."""

    engine = "hash"

    def __init__(self, width: int = 32, *, revision: str = "1") -> None:
        self.identity = ModelIdentity("hash", revision, width, normalised=True, recipe=RECIPE)
        self.max_tokens = 256
        self.closed = False

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        vectors = np.stack([self._vector(text) for text in texts])
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def close(self) -> None:
        self.closed = True

    def _vector(self, text: str) -> np.ndarray:
        vector = np.full(self.identity.width, 1e-3, dtype=np.float32)  # no text is the zero vector
        for word in text.lower().split():
            digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=4).digest()
            sign = 1.0 if digest[3] & 1 else -1.0
            vector[int.from_bytes(digest[:3]) % self.identity.width] += sign
        return vector
