"""Copies of large vaults that another server holds, for the day it dies: each as of some entry of its log, and never
opened by SQLite before the vault is taken here.

Whoever takes a vault claims its copy, and proves it by the log (``local_copies.py``). So a copy may be old, and what is
wrong with one costs a whole restore and nothing else.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from vaults.cluster.cluster_observer import StandbyState
from vaults.cluster.failures import LogDamaged, LogUnavailable
from vaults.cluster.log_replay import ReplayedCopy, bring_up, build_copy
from vaults.cluster.postgres.large_vaults import LargeVault
from vaults.cluster.vault_log import LogEntry, LogSource
from vaults.errors import StrongroomError
from vaults.files.permissions import make_private_folder
from vaults.paces import paced

STANDBY_FOLDER = ".standby"
"""Among the folders of held vaults, and cleared with them when a server starts and ends."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _KeptCopy:
    """``at``: when its log ended with it last, in seconds of ``time.monotonic``."""

    copy: ReplayedCopy
    at: float


class StandbyCopies:
    """In a folder of their own. What brings them up, makes and drops them is called by one thread; the rest by any."""

    def __init__(self, folder: Path) -> None:
        make_private_folder(folder)
        self.folder = folder
        self._kept: dict[str, _KeptCopy] = {}
        self._changed = threading.Condition()
        self._busy: str | None = None
        """The vault whose copy is being brought up."""
        self._claimed: set[str] = set()
        """Vaults that were taken here since ``begin_round``."""
        self._used: set[str] = set()
        """Those of them whose copy was used up."""
        self._damaged: dict[str, int] = {}
        """Vaults of which no copy could be made, and the entry their base was of then: not tried again and again."""
        self._is_stopped = False

    def claim(self, vault: str) -> ReplayedCopy | None:
        """The copy of a vault that was taken here, which is the caller's from now on. Blocking, while it is being
        brought up."""
        with self._changed:
            self._claimed.add(vault)
            self._changed.wait_for(lambda: self._busy != vault)
            found = self._kept.pop(vault, None)
            if found is not None:
                self._used.add(vault)
        return None if found is None else found.copy

    def is_used(self, vault: str) -> bool:
        """Whether its copy was claimed since ``begin_round``."""
        with self._changed:
            return vault in self._used

    def stop(self) -> None:
        """Make no copy any more; one that is being made is given up."""
        self._is_stopped = True

    def state(self) -> StandbyState:
        with self._changed:
            kept = list(self._kept.values())
        return StandbyState(
            len(kept), sum(each.copy.size for each in kept), min((each.at for each in kept), default=None)
        )

    def vaults(self) -> frozenset[str]:
        """Of which there are copies."""
        with self._changed:
            return frozenset(self._kept)

    def begin_round(self) -> list[str]:
        """Called before it is asked who holds what: what is claimed later is not made here, whatever that says. The
        vaults whose copies were used up before."""
        with self._changed:
            used = sorted(self._used)
            self._used.clear()
            self._claimed.clear()
        return used

    def drop_all_but(self, vaults: Collection[str]) -> None:
        with self._changed:
            gone = [self._kept.pop(vault) for vault in set(self._kept).difference(vaults)]
        for each in gone:
            _remove(each.copy.path)

    def bring_up(self, store: LogSource, large: LargeVault) -> bool:
        """Bring the copy of a vault up to the end of its log. False where there is none, or a base took the place of
        entries that it lacks: it is dropped then."""
        with self._changed:
            found = None if large.vault in self._claimed else self._kept.get(large.vault)
            if found is None:
                return False
            self._busy = large.vault
        kept: _KeptCopy | None = None
        try:
            copy = bring_up(store, large.vault, found.copy, large.head)
            seq = copy.log.head.seq
            if seq >= large.base_seq:
                kept = _KeptCopy(copy, time.monotonic() if seq >= large.head else found.at)
        except (StrongroomError, OSError) as failure:
            _log.warning("the standby copy of vault %s is dropped: %s", large.vault, failure)
        finally:
            self._put_back(large.vault, kept)
        return kept is not None

    def make(self, store: LogSource, large: LargeVault) -> bool:
        """Make a copy of a vault as it is now; whether there is one. Given up once the vault is taken here. Where it
        fails it is for the next round, or, where the log is damaged, for one after it has another base."""
        if self._damaged.get(large.vault) == large.base_seq:
            return False
        making = self.folder / f"{large.vault}.making"
        try:
            copy = build_copy(_UnhurriedLog(store, self._go_on(large.vault)), large.vault, making, large.head)
            return copy is not None and self._place(large.vault, copy)
        except LogDamaged as failure:
            self._damaged[large.vault] = large.base_seq
            _log.error("no standby copy of vault %s: %s", large.vault, failure)
        except (StrongroomError, OSError) as failure:
            _log.info("no standby copy of vault %s yet: %s", large.vault, failure)
        finally:
            _remove(making)
        return False

    def _go_on(self, vault: str) -> Callable[[], bool]:
        return lambda: not self._is_stopped and vault not in self._claimed

    def _place(self, vault: str, made: ReplayedCopy) -> bool:
        with self._changed:
            if vault in self._claimed:
                return False
            path = self.folder / f"{vault}.db"
            made.path.rename(path)
            self._kept[vault] = _KeptCopy(ReplayedCopy(path, made.log, made.digests), time.monotonic())
            return True

    def _put_back(self, vault: str, kept: _KeptCopy | None) -> None:
        with self._changed:
            gone = self._kept.pop(vault)
            if kept is not None:
                self._kept[vault] = kept
            self._busy = None
            self._changed.notify_all()
        if kept is None:
            _remove(gone.copy.path)


class _UnhurriedLog:
    """Reads with rests in between, for as long as that is wanted: ``LogUnavailable`` from then on."""

    def __init__(self, log: LogSource, goes_on: Callable[[], bool]) -> None:
        self._log = log
        self._goes_on = goes_on

    def entries(self, vault: str, after: int) -> Iterator[LogEntry]:
        return self._wanted(self._log.entries(vault, after))

    def base(self, vault: str) -> tuple[int, Iterator[bytes]] | None:
        found = self._log.base(vault)
        return None if found is None else (found[0], self._wanted(found[1]))

    def _wanted(self, items: Iterable[T]) -> Iterator[T]:
        for item in paced(items):
            if not self._goes_on():
                raise LogUnavailable("the copy is not wanted any more")
            yield item


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)
