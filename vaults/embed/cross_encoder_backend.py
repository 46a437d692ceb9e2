"""What an engine of a cross-encoder is, and what both engines do alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    import numpy as np

_CHARACTERS_PER_TOKEN = 16  # beyond that a text is not even tokenised: no prose has tokens that long


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


def cut_legible(text: str, max_tokens: int) -> str:
    """The start of ``text`` that may be read, in a form the tokenizer accepts: it refuses a lone surrogate, and with it
    the whole batch."""
    return text[: _CHARACTERS_PER_TOKEN * max_tokens].encode("utf-8", "replace").decode("utf-8")


def squash_logits(logits: np.ndarray) -> list[float]:
    """One sigmoid of each logit, whatever activation the model's files name."""
    import numpy as np

    return cast("list[float]", (0.5 * (1 + np.tanh(0.5 * logits))).tolist())
