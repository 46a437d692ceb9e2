"""Which models of this machine are loaded: a few at most, the one used least recently gives way, an idle one first.

Giving way was preferred to refusing a further model: vaults come from backups and other installations with the model
they have, and a search that waits for a model to load again (0.2 s by ONNX Runtime) is better than none.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

from vaults.errors import EmbeddingUnavailable

AT_MOST = 2
"""Models loaded at a time."""

GIVE_WAY_S = 5.0
"""Seconds that a model which is used has to end its slice."""


class ResidentModel(Protocol):
    """What can be asked to free its memory."""

    @property
    def is_busy(self) -> bool:
        """Whether texts wait for it, or it works on some."""

    def unload(self) -> None:
        """Returns at once; it leaves when it can."""


class ResidentModels:
    """Thread-safe. Each model's own thread calls ``admit`` before it loads and ``leave`` once its memory is free."""

    def __init__(self, at_most: int = AT_MOST) -> None:
        self._at_most = at_most
        self._changed = threading.Condition()
        self._loaded: dict[ResidentModel, None] = {}  # least recently used first

    @property
    def count(self) -> int:
        """Models that are loaded, or being loaded."""
        with self._changed:
            return len(self._loaded)

    def admit(self, model: ResidentModel) -> None:
        """Return once there is room for a model. Raises ``EmbeddingUnavailable`` where none of those that are loaded
        gives way in time."""
        ends = time.monotonic() + GIVE_WAY_S
        with self._changed:
            self._loaded.pop(model, None)
            while not self._has_room():
                idle = (each for each in self._loaded if not each.is_busy)
                next(idle, next(iter(self._loaded))).unload()
                if not (self._has_room() or self._changed.wait(ends - time.monotonic())):
                    self._pass_over()
                    raise EmbeddingUnavailable(f"{self._at_most} other models are loaded, and none gives way")
            self._loaded[model] = None

    def note_use(self, model: ResidentModel) -> None:
        """Record that a model is used."""
        with self._changed:
            if model in self._loaded:
                del self._loaded[model]
                self._loaded[model] = None

    def leave(self, model: ResidentModel) -> None:
        """Record that a model's memory is free."""
        with self._changed:
            self._loaded.pop(model, None)
            self._changed.notify_all()

    def _has_room(self) -> bool:
        return len(self._loaded) < self._at_most

    def _pass_over(self) -> None:
        """Have the one that is stuck asked last the next time."""
        stuck = next(iter(self._loaded))
        del self._loaded[stuck]
        self._loaded[stuck] = None
