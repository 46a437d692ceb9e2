"""Texts that wait for the model, in three lanes. Plain data: the worker holds its lock around every call.

Queries go before live writes, live writes before imports. A lane is cut into slices of texts of similar length, and the
lane is chosen anew for each slice, so a query waits for one slice at most, however long an import is. A lane passed
over eight times gets one slice: heavy reading must not stop writing for good.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from vaults.embed.batches import BATCH_CHARACTERS, split_into_batches
from vaults.errors import Overloaded

if TYPE_CHECKING:
    import numpy as np

_MAX_TIMES_PASSED = 8
_IMPORT_SLICE = 32  # texts; keeps the slice a query may have to wait for small, even where texts are tiny


class Priority(Enum):
    QUERY = "query"
    WRITE = "write"
    IMPORT = "import"


@dataclass(eq=False, slots=True)
class EmbeddingRequest:
    """One caller's texts."""

    future: asyncio.Future[None]
    """Resolves once, when ``left`` is zero."""
    loop: asyncio.AbstractEventLoop
    rows: list[np.ndarray | None]
    """Filled by the worker."""
    left: int
    """Texts still to be embedded."""
    items: list[QueuedText] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class QueuedText:
    """One text and the requests it belongs to: equal texts of a lane are embedded once while they wait or run."""

    text: str
    priority: Priority
    places: list[tuple[EmbeddingRequest, int]] = field(default_factory=list)
    waiting: bool = True


@dataclass(slots=True)
class _Lane:
    """One lane: what came in, and what is already cut into slices."""

    window: int
    """Texts cut into slices at a time."""
    most: int
    """Max texts of a slice."""
    characters: int
    """Max characters of a slice, padding included."""
    incoming: deque[QueuedText] = field(default_factory=deque)
    slices: deque[list[QueuedText]] = field(default_factory=deque)
    live: int = 0
    """Texts that somebody still waits for."""
    passed: int = 0
    """Times it was passed over since its last slice."""

    def pop(self) -> list[QueuedText]:
        """The next slice; items nobody waits for any more are left out."""
        while self.slices or self.incoming:
            if not self.slices:
                self._cut()
            elif found := [item for item in self.slices.popleft() if item.places]:
                self.live -= len(found)
                return found
        return []

    def _cut(self) -> None:
        """Cut one window, oldest first. Nothing later is served before all of it, so long texts do not starve."""
        taken = [self.incoming.popleft() for _ in range(min(self.window, len(self.incoming)))]
        window = [item for item in taken if item.places]
        groups = split_into_batches([len(item.text) for item in window], budget=self.characters, most=self.most)
        self.slices.extend([window[place] for place in group] for group in groups)


class PriorityQueue:
    """Bounded to ``limit`` texts. ``queued`` counts those that wait, without the slice the model is reading."""

    def __init__(self, *, limit: int, batch: int, characters: int = BATCH_CHARACTERS) -> None:
        self._limit = limit
        self._lanes = {  # first served first
            Priority.QUERY: _Lane(batch, batch, characters),
            Priority.WRITE: _Lane(batch, batch, characters),
            Priority.IMPORT: _Lane(8 * batch, min(batch, _IMPORT_SLICE), characters),
        }
        self._known: dict[tuple[Priority, str], QueuedText] = {}

    @property
    def queued(self) -> int:
        return sum(lane.live for lane in self._lanes.values())

    def put(self, priority: Priority, texts: Sequence[str], request: EmbeddingRequest, *, retry_after_s: float) -> None:
        """Queue all texts or, raising Overloaded, none."""
        fresh = {text for text in texts if (priority, text) not in self._known}
        if self.queued + len(fresh) > self._limit:
            raise Overloaded("Too many texts wait for the embedding model.", retry_after_s=retry_after_s)
        lane = self._lanes[priority]
        for place, text in enumerate(texts):
            item = self._known.get((priority, text))
            if item is None:
                item = self._known[priority, text] = QueuedText(text, priority)
                lane.incoming.append(item)
                lane.live += 1
            item.places.append((request, place))
            request.items.append(item)

    def take(self) -> list[QueuedText]:
        """The slice the model reads next; empty when nothing waits."""
        waiting = [lane for lane in self._lanes.values() if lane.live]
        if not waiting:
            return []
        chosen = next((lane for lane in waiting[1:] if lane.passed >= _MAX_TIMES_PASSED), waiting[0])
        for lane in waiting[waiting.index(chosen) + 1 :]:
            lane.passed += 1
        chosen.passed = 0
        items = chosen.pop()
        for item in items:
            item.waiting = False
        return items

    def finish(self, items: Iterable[QueuedText], rows: Iterable[np.ndarray | None]) -> list[EmbeddingRequest]:
        """Hand out what the model returned; None for a text it failed on. Returns the requests that are complete."""
        complete = []
        for item, row in zip(items, rows, strict=True):
            self._forget(item)
            for request, place in item.places:
                request.rows[place] = row
                request.left -= 1
                if request.left == 0:
                    complete.append(request)
        return complete

    def drop(self, request: EmbeddingRequest) -> None:
        """Free the places of a caller that is gone. Texts that others also wait for stay."""
        for item in request.items:
            item.places = [place for place in item.places if place[0] is not request]
            if not item.places and self._known.get((item.priority, item.text)) is item:
                self._forget(item)
                if item.waiting:
                    self._lanes[item.priority].live -= 1
        request.items.clear()

    def drain(self) -> list[EmbeddingRequest]:
        """Give up on everything, also on what the model is reading. Returns all requests that waited."""
        requests = {id(request): request for item in self._known.values() for request, _ in item.places}
        for item in self._known.values():
            item.places = []
        self._known.clear()
        for lane in self._lanes.values():
            lane.incoming.clear()
            lane.slices.clear()
            lane.live = 0
        return list(requests.values())

    def _forget(self, item: QueuedText) -> None:
        if self._known.get((item.priority, item.text)) is item:
            del self._known[item.priority, item.text]
