"""Walks commits from newest to oldest, along several lines at once, within bounds."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vaults.history import commit_objects
from vaults.history.commit_objects import CommitRecord
from vaults.history.errors import HistoryUnavailable, ObjectMissing
from vaults.history.object_store import ObjectStore


@dataclass(frozen=True, slots=True)
class WalkBounds:
    """How much of the past one call may read."""

    commits: int = 20_000
    seconds: float = 2.0


@dataclass(frozen=True, slots=True)
class WalkStart:
    """Where a walk starts. ``source`` is ``history`` (strongroom's own, must be complete) or ``branch``."""

    source: str
    objects: ObjectStore
    tip: str


@dataclass(frozen=True, slots=True)
class WalkStep:
    id: str
    record: CommitRecord
    line: WalkStart


class CommitWalk:
    """Iterate once. ``complete`` turns False when the walk ended at its bounds, or at objects the clone does not hold.

    A branch may legitimately lack objects: in a shallow or partial clone, or one that borrows from another repository
    (which is never opened). There the walk ends. In strongroom's history an absent object is damage and raises.
    """

    def __init__(self, lines: Sequence[WalkStart], bounds: WalkBounds) -> None:
        self._lines = lines
        self._bounds = bounds
        self._seen: set[str] = set()
        self._heap: list[tuple[int, int, str, CommitRecord, WalkStart]] = []
        self.complete = True

    def __iter__(self) -> Iterator[WalkStep]:
        for line in self._lines:
            self._push(line.tip, line)
        ends = time.monotonic() + self._bounds.seconds
        count = 0
        while self._heap:
            if count >= self._bounds.commits or time.monotonic() > ends:
                self.complete = False
                return
            count += 1
            _, _, oid, record, line = heapq.heappop(self._heap)
            yield WalkStep(oid, record, line)
            for parent in record.parents:
                self._push(parent, line)

    def _push(self, oid: str, start: WalkStart) -> None:
        if oid in self._seen:
            return
        self._seen.add(oid)
        found = start.objects.find(oid)
        if found is None and start.source == "branch":
            self.complete = False
            return
        if found is None:
            raise ObjectMissing
        if found.kind != "commit":
            raise HistoryUnavailable("an object of the history is damaged")
        record = commit_objects.decode(found.data)
        # Newest first; within one second the one met first, which keeps children before parents.
        heapq.heappush(self._heap, (-record.at, len(self._seen), oid, record, start))
