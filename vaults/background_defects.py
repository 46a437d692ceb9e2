"""Defects of work that nobody waits for: an exception that no code expects would otherwise end it unseen.

Errors of this program (``StrongroomError``) are none: they say what is wrong, and whoever calls meets the same.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

from vaults import clock
from vaults.errors import StrongroomError
from vaults.observer import Observer

TaskName: TypeAlias = Literal[
    "audit",
    "backfill_entity_vectors",
    "backfill_vectors",
    "backups",
    "change_model",
    "commit_notes",
    "drills",
    "erase_memories",
    "evict",
    "follow_collections",
    "follow_notes",
    "follow_up",
    "inspect_databases",
    "keep_change_log",
    "learn_links",
    "look_at_integrity",
    "measure_disks",
    "read_incomplete_notes",
    "rechunk",
    "recover_notes",
    "reindex",
    "remove_collections",
    "reread_pages",
    "rescore_graph",
    "resolve_links",
    "restore",
    "retention",
    "upkeep",
    "vault_rounds",
    "write_daily_counts",
]
"""What runs unasked: jobs and lasting tasks of vaults, and the loops of a server."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Defect:
    """``kind``: the class of the exception, whose text may quote what a vault holds; ``times``: how often a task ended
    so; ``last``: when last."""

    kind: str
    times: int
    last: str


class BackgroundDefects:
    """Which tasks ended with a defect and have not ended well since. ``of``: the vault they work for, '' for the
    process."""

    def __init__(self, observer: Observer, of: str = "") -> None:
        self._observer = observer
        self._of = of
        self.current: dict[TaskName, Defect] = {}

    @contextmanager
    def noting(self, task: TaskName) -> Iterator[None]:
        """One run of a task: a defect is counted, logged if the run before had none, and raised again."""
        try:
            yield
        except StrongroomError:
            raise
        except Exception as failure:
            self._note(task, failure)
            raise
        else:
            self.current.pop(task, None)

    async def outlive(self, task: TaskName, run: Awaitable[object]) -> None:
        """Await one run of a task; what comes after it goes on in spite of a defect. Raises ``StrongroomError``."""
        try:
            with self.noting(task):
                await run
        except StrongroomError:
            raise
        except Exception:  # noqa: BLE001, S110  it was noted
            pass

    def _note(self, task: TaskName, failure: Exception) -> None:
        self._observer.on_background_defect(task)
        known = self.current.get(task)
        if known is None:  # a round comes every few seconds: one line says it, the metric counts
            _log.error("background task %s failed (vault: %s)", task, self._of or "none", exc_info=failure)
        times = 1 if known is None else known.times + 1
        self.current[task] = Defect(type(failure).__name__, times, clock.now())
