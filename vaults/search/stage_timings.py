"""How long each stage of a search took."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from vaults.observer import Observer


@dataclass(slots=True)
class StageTimings:
    """Wall seconds by stage, reported to the observer as each ends. Runs of the same stage add up."""

    observer: Observer
    seconds: dict[str, float] = field(default_factory=dict)

    def stage(self, name: str) -> _Stage:
        """Time the block as a stage."""
        return _Stage(self, name)


class _Stage:
    """A block that is timed. No generator: a search has seven, and this takes a third of the time."""

    __slots__ = ("_began", "_name", "_timings")

    def __init__(self, timings: StageTimings, name: str) -> None:
        self._timings, self._name, self._began = timings, name, 0.0

    def __enter__(self) -> None:
        self._began = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        took, timings = time.perf_counter() - self._began, self._timings
        timings.seconds[self._name] = timings.seconds.get(self._name, 0.0) + took
        timings.observer.on_search_stage(self._name, took)
