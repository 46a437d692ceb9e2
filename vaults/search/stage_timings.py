"""How long each stage of a search took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from vaults.observer import Observer


@dataclass(slots=True)
class StageTimings:
    """Wall seconds by stage, reported to the observer as each ends. Runs of the same stage add up."""

    observer: Observer
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time the block as a stage."""
        began = time.perf_counter()
        try:
            yield
        finally:
            took = time.perf_counter() - began
            self.seconds[name] = self.seconds.get(name, 0.0) + took
            self.observer.on_search_stage(name, took)
