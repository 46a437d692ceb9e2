"""Who answers a prompt: a command or an endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

MAX_ANSWER = 1 << 20
"""Bytes of an answer, counted as it arrives."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What came back. ``tokens``: of prompt and answer together, None where nobody counted."""

    text: str
    tokens: int | None = None


class ModelFailure(Exception):
    """There is no answer to use. ``reason`` is plain words, safe to print: it repeats nothing of what came back."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ModelUnavailable(ModelFailure):
    """Nobody answered; later somebody may."""


class BadAnswer(ModelFailure):
    """There is an answer, and nobody can use it: asking again would cost as much and give the same."""


class LanguageModel(Protocol):
    """Something that answers. Belongs to one event loop."""

    async def ask(self, prompt: str, schema: dict[str, Any]) -> ModelReply:
        """The answer to a prompt, as JSON that ``schema`` describes if the model keeps to it. Raises
        ``ModelUnavailable``, and ``BadAnswer`` for what could not be read."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
