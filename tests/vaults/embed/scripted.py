"""Embedders that do as a test says, and a clock it moves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from tests.fakes import HashEmbedder
from tests.work import PATIENCE_S


class Scripted(HashEmbedder):
    """Records every call; ``answer`` may replace what it returns."""

    def __init__(self, answer: Callable[[Sequence[str], Any], Any] | None = None) -> None:
        super().__init__()
        self.calls: list[list[str]] = []
        self.answer = answer

    def embed(self, texts: Sequence[str]) -> Any:
        self.calls.append(list(texts))
        found = super().embed(texts)
        return self.answer(texts, found) if self.answer else found


class Gated(Scripted):
    """Stops inside its first call until ``release`` is set; ``entered`` says it is there."""

    def __init__(self) -> None:
        super().__init__()
        self.entered, self.release = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> Any:
        self.entered.set()
        if not self.release.wait(2 * PATIENCE_S):
            raise RuntimeError("the test never released its model")
        return super().embed(texts)


class Clock:
    """Monotonic seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
