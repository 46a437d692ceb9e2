"""What is sent to an embedding endpoint, and how its answer is read, in each of three protocols. Pure.

Nothing goes into a request but the texts, the model's name, and how the vectors are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, TypeAdapter

from vaults.settings import EmbeddingProtocol

Vectors = list[list[float]]


@dataclass(frozen=True, slots=True)
class EndpointProtocol:
    """``to_body``: of a model's name and texts. ``read`` raises ``ValueError`` for an answer of another shape."""

    to_body: Callable[[str, Sequence[str]], dict[str, Any]]
    read: Callable[[bytes], Vectors]


class _OllamaAnswer(BaseModel):
    embeddings: Vectors


class _OpenAIVector(BaseModel):
    embedding: list[float]
    index: int | None = None


class _OpenAIAnswer(BaseModel):
    data: list[_OpenAIVector]


_TEI_ANSWER = TypeAdapter(Vectors)


def _read_openai(answer: bytes) -> Vectors:
    """In the order of the texts: the protocol numbers the vectors, and may give them in another."""
    found = _OpenAIAnswer.model_validate_json(answer).data
    numbers = [place if each.index is None else each.index for place, each in enumerate(found)]
    if sorted(numbers) != list(range(len(found))):
        raise ValueError("the numbers are not those of the texts")
    return [each.embedding for _, each in sorted(zip(numbers, found, strict=True), key=lambda pair: pair[0])]


PROTOCOLS: Mapping[EmbeddingProtocol, EndpointProtocol] = {
    "ollama": EndpointProtocol(
        lambda model, texts: {"model": model, "input": list(texts), "truncate": True},
        lambda answer: _OllamaAnswer.model_validate_json(answer).embeddings,
    ),
    "openai": EndpointProtocol(
        lambda model, texts: {"model": model, "input": list(texts), "encoding_format": "float"}, _read_openai
    ),
    "tei": EndpointProtocol(
        lambda _model, texts: {"inputs": list(texts), "normalize": True, "truncate": True}, _TEI_ANSWER.validate_json
    ),
}
