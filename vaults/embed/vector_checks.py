"""Checks the vectors a model returned: only finite rows of the right width and of unit length come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from vaults.errors import EmbeddingUnavailable

if TYPE_CHECKING:
    import numpy as np

EmbedCall = Callable[[Sequence[str]], Any]

# Single texts that may fail in a row before the rest of a batch is given up: by then it is the model, not a text.
_MAX_FAILURES_IN_A_ROW = 4
_MIN_NORM = 1e-6  # a shorter vector has no direction worth keeping


def embed_rows(call: EmbedCall, texts: Sequence[str], width: int) -> list[np.ndarray | None]:
    """A row per text, None where the model gives nothing usable. Raises ``EmbeddingUnavailable`` where the model itself
    does, which then is down, whatever the texts; nothing else it does is raised.

    When a batch fails, or some of its rows are unusable, those texts are tried once more, each alone, so that a bad
    text costs only its own vector.
    """
    rows = _attempt(call, texts, width)
    if len(texts) == 1:
        return rows
    failures = 0
    for place, row in enumerate(rows):
        if row is None and failures < _MAX_FAILURES_IN_A_ROW:
            (rows[place],) = _attempt(call, texts[place : place + 1], width)
            failures = failures + 1 if rows[place] is None else 0
    return rows


def to_usable_rows(found: Any, count: int, width: int) -> list[np.ndarray | None]:
    """``found`` row by row: float32, renormalised, None where it is not finite or zero; all None if misshapen."""
    import numpy as np

    vectors = np.asarray(found, dtype=np.float32)
    if vectors.shape != (count, width):
        return [None] * count
    with np.errstate(all="ignore"):  # odd values are what this looks for
        norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
        good = np.isfinite(norms) & (norms > _MIN_NORM)
        vectors = (vectors / norms[:, None]).astype(np.float32)
    return [row if fine else None for row, fine in zip(vectors, good, strict=True)]


def _attempt(call: EmbedCall, texts: Sequence[str], width: int) -> list[np.ndarray | None]:
    try:
        return to_usable_rows(call(texts), len(texts), width)
    except EmbeddingUnavailable:
        raise
    except Exception:  # noqa: BLE001 - whatever a model raises means the same: no vectors; the caller reports it
        return [None] * len(texts)
