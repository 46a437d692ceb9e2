"""What happens when: a clock that jumps from event to event, and stations at which work waits its turn."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from itertools import count

Event = Callable[[], None]


class Clock:
    """``now`` in seconds. Events of one moment happen in the order in which they were asked for."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Event]] = []
        self._order = count()

    def after(self, seconds: float, event: Event) -> None:
        heapq.heappush(self._events, (self.now + seconds, next(self._order), event))

    def run(self) -> None:
        """Until nothing is left to happen."""
        while self._events:
            self.now, _, event = heapq.heappop(self._events)
            event()


class Station:
    """Work for ``places`` at once, first come, first served. ``busy`` adds up the seconds of all places."""

    def __init__(self, clock: Clock, places: int) -> None:
        self._clock, self._free = clock, places
        self._waiting: deque[tuple[float, Event]] = deque()
        self.busy = 0.0
        self.taken = self.done = 0

    def serve(self, seconds: float, then: Event) -> None:
        """Call ``then`` when that much was worked on it."""
        self.taken += 1
        if self._free:
            self._free -= 1
            self._begin(seconds, then)
        else:
            self._waiting.append((seconds, then))

    @property
    def inside(self) -> int:
        """Work that came and has not left."""
        return self.taken - self.done

    def _begin(self, seconds: float, then: Event) -> None:
        self.busy += seconds

        def end() -> None:
            self.done += 1
            if self._waiting:
                self._begin(*self._waiting.popleft())
            else:
                self._free += 1
            then()

        self._clock.after(seconds, end)


class GroupedAppends:
    """Appends of one vault: one is under way, and what comes meanwhile goes together with the next."""

    def __init__(self, clock: Clock, database: Station, processor_s: float, wait_s: float) -> None:
        self._clock, self._database = clock, database
        self._processor_s, self._wait_s = processor_s, wait_s
        self._waiting: list[Event] = []
        self._is_under_way = False
        self.appends = 0

    def append(self, then: Event) -> None:
        self._waiting.append(then)
        if not self._is_under_way:
            self._send()

    def _send(self) -> None:
        group, self._waiting, self._is_under_way = self._waiting, [], True
        self.appends += 1

        def answered() -> None:
            self._is_under_way = False
            if self._waiting:
                self._send()
            for then in group:
                then()

        self._database.serve(self._processor_s, lambda: self._clock.after(self._wait_s, answered))
