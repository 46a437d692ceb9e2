"""Which commits a commit of a repository descends from. Reads objects and references, and nothing else."""

from __future__ import annotations

import heapq
import re
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

from vaults.history import locations
from vaults.history.commit_walk import WalkBounds
from vaults.history.errors import HistoryUnavailable, translate_git_errors
from vaults.history.locations import RepositoryLocation
from vaults.history.object_store import ObjectStore
from vaults.history.refs import Refs

T = TypeVar("T")

BOUNDS = WalkBounds(commits=50_000, seconds=2.0)

SLACK_S = 86_400
"""Seconds by which a parent's clock may have been ahead of its child's."""

REMEMBERED = 10_000
"""Answers cached: a commit's ancestors never change."""

_PARENT = re.compile(rb"^parent ([0-9a-f]{40})$", re.MULTILINE)
_COMMITTED = re.compile(rb"^committer .*?(-?\d{1,12})(?: [+-]\d+)?$", re.MULTILINE)


def open_repository(folder: Path) -> Repository | None:
    """The repository whose worktree holds ``folder``; None where there is none. Blocking. Raises
    ``HistoryUnavailable`` for one that is damaged or another user's."""
    with translate_git_errors("opening the repository"):
        around = locations.find_surrounding(folder)
    return Repository(around) if around else None


class Repository:
    """One repository. Blocking; may be used from any thread. Every failure is ``HistoryUnavailable``."""

    def __init__(self, location: RepositoryLocation) -> None:
        self._where = location
        self._objects = ObjectStore(location.common / "objects")
        self._refs = Refs(location.private, location.common)
        self._turn = threading.Lock()
        self._known: dict[tuple[str, str], bool] = {}

    def head(self) -> str | None:
        """The commit that is checked out; None before the first."""
        with translate_git_errors("reading the repository"):
            return self._refs.head()

    def outside(self, commits: Collection[str], head: str) -> frozenset[str] | None:
        """Those of ``commits`` that are surely no ancestors of ``head``: in a long history, or a clone that holds only
        part of it, a commit that was not met is not called outside. None: ``head`` is no commit of this repository."""
        with self._turn, translate_git_errors("reading the repository"):
            if self._lineage(head) is None:
                return None
            unknown = {commit for commit in commits if (head, commit) not in self._known}
            if unknown:
                self._learn(unknown, head)
            return frozenset(commit for commit in commits if self._known.get((head, commit)) is False)

    def _learn(self, unknown: set[str], head: str) -> None:
        if len(self._known) > REMEMBERED:
            self._known.clear()
        times = {commit: found[0] for commit in unknown if (found := self._lineage(commit)) is not None}
        met, complete = self._walk(head, set(times), min(times.values(), default=0) - SLACK_S)
        self._known.update({(head, commit): True for commit in met})
        if complete:
            self._known.update({(head, commit): False for commit in times.keys() - met})
        if not self._may_lack_commits():
            self._known.update({(head, commit): False for commit in unknown - times.keys()})

    def _walk(self, head: str, wanted: set[str], oldest: int) -> tuple[set[str], bool]:
        """Which of ``wanted`` are met on the way back to ``oldest``, and whether no commit on the way was left out.
        Newest first, by commit time: parents are hardly ever newer than their children."""
        met: set[str] = set()
        seen, heap, complete = {head}, [(0, head)], True
        ends = time.monotonic() + BOUNDS.seconds
        while heap and met != wanted:
            if len(seen) > BOUNDS.commits or time.monotonic() > ends:
                return met, False
            _, commit = heapq.heappop(heap)
            met |= {commit} & wanted
            found = self._lineage(commit)
            for parent in found[1] if found else ():
                if parent in seen:
                    continue
                seen.add(parent)
                before = self._lineage(parent)
                if before is None:
                    complete = False
                elif before[0] >= oldest:
                    heapq.heappush(heap, (-before[0], parent))
        return met, complete

    def _lineage(self, commit: str) -> tuple[int, list[str]] | None:
        """When a commit was made, in seconds since the epoch, and its parents; None if it is missing or no commit."""
        if len(commit) != 40:
            return None
        found = self._objects.find(commit)
        if found is None or found.kind != "commit":
            return None
        head, _, _ = found.data.partition(b"\n\n")
        made = _COMMITTED.search(head)
        if made is None:
            raise HistoryUnavailable("an object of the history is damaged")
        return int(made[1]), [parent.decode() for parent in _PARENT.findall(head)]

    def _may_lack_commits(self) -> bool:
        """Whether commits may legitimately be missing: in a shallow clone, or one that borrows from another."""
        common = self._where.common
        return (common / "shallow").exists() or (common / "objects" / "info" / "alternates").exists()


class WorkRepository:
    """The repository a vault's work is in, opened when it is first asked. ``folder`` None: it has none."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._opened: Repository | None = None

    def ask(self, question: Callable[[Repository], T | None]) -> T | None:
        """The answer; None where there is no repository, or it cannot be read: then it is opened afresh the next time.
        Blocking."""
        if self.folder is None:
            return None
        try:
            self._opened = self._opened or open_repository(self.folder)
            return question(self._opened) if self._opened else None
        except HistoryUnavailable:
            self._opened = None
            return None
