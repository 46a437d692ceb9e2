"""The libraries that serve models other than the bundled one, which are an extra of this program: what they refuse, in
words that help."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from vaults.errors import EmbeddingUnavailable

EXTRA = "strongroom[models]"
RERANK_EXTRA = "strongroom[rerank]"


def missing_extra_error(model: str, needed: str = "") -> EmbeddingUnavailable:
    """The error for a model that is here, but not what serves or exports it. ``needed`` says why it must be that."""
    because = f": {needed} (pip install '{EXTRA}')" if needed else ""
    return EmbeddingUnavailable(
        f"The model {model} needs sentence-transformers, which is not installed{because}.",
        hint=f"Install the extra: pip install '{EXTRA}'. In a checkout, make models does it.",
    )


def missing_onnx_error(model: str) -> EmbeddingUnavailable:
    """The error for a cross-encoder that ONNX Runtime could serve, were there what writes its graph."""
    return EmbeddingUnavailable(
        f"The model {model} has no onnx/model.onnx, and onnx, which makes one of its weights, is not installed "
        f"(pip install '{RERANK_EXTRA}').",
        hint=f"Install the extra: pip install '{RERANK_EXTRA}', or put onnx/model.onnx into the model's folder.",
    )


@contextmanager
def refusing_foreign_code(model: str) -> Iterator[None]:
    """Around loading a model with ``trust_remote_code=False``: one whose files name Python code of their own, which the
    libraries then do not run, is an ``EmbeddingUnavailable`` that says so."""
    try:
        yield
    except ValueError as error:
        if "trust_remote_code" not in str(error):
            raise
        raise EmbeddingUnavailable(
            f"The model {model} brings code of its own, which is not run.",
            hint="Take another model, or have a server run it that you trust with that: embedding.engine = endpoint.",
        ) from error


def require_device(torch: Any, device: str) -> None:
    """Raises ``EmbeddingUnavailable`` for a device that PyTorch does not know or find here."""
    try:
        kind = torch.device(device).type
    except RuntimeError:
        raise EmbeddingUnavailable(
            f"PyTorch knows no device {device}.", hint="embedding.device is cpu, cuda, cuda:1 or mps, for example."
        ) from None
    there = {"cuda": torch.cuda.is_available, "mps": torch.backends.mps.is_available}
    if kind in there and not there[kind]():
        raise EmbeddingUnavailable(
            f"PyTorch finds no device {device} here.", hint="Set embedding.device to cpu, or install its drivers."
        )
