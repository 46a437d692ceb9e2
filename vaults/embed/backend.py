"""What an embedding engine is, and the identity that says whether two vectors may be compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np

# Version of how text is prepared for the model. Raise it when that changes: every vault then embeds again.
RECIPE = 1


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Vectors of equal identity are comparable, whichever engine made them; others never are."""

    name: str
    revision: str  # digest of the weights (and, where it is not a pinned model, of the files that shape its vectors);
    # of an endpoint, whose weights nobody sees, that of the vector it gave for a known text
    width: int
    normalised: bool
    recipe: int

    @property
    def key(self) -> str:
        """16 hex digits that stand for all of it, stored with every vector."""
        return _key_of(self)


@lru_cache(maxsize=64)  # a search asks three times
def _key_of(model: ModelIdentity) -> str:
    parts = json.dumps([model.name, model.revision, model.width, model.normalised, model.recipe])
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


class Embedder(Protocol):
    """One loaded model. Used by one thread at a time; it reads the first ``max_tokens`` of a text."""

    @property
    def identity(self) -> ModelIdentity: ...

    @property
    def max_tokens(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """float32 ``[len(texts), width]``, each row of unit length, in the order given. Blocks. Raises
        ``EmbeddingUnavailable`` only where no text would get a vector now; anything else is held against the texts."""

    def close(self) -> None:
        """Free the memory. The embedder is not used again."""
