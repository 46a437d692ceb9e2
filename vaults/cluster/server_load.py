"""How much of what this process may use it uses, and how much of that each open vault: averages that forget."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vaults.vault_hosting import VaultUse

CGROUP_LIMIT = Path("/sys/fs/cgroup/cpu.max")
"""Of a container: microseconds of processor time in a period, or ``max``, and the microseconds of the period."""


@dataclass(frozen=True, slots=True)
class VaultLoad:
    """The shares of a server's cores, and of its memory for vectors, that one vault takes."""

    vault: str
    cpu: float
    memory: float


@dataclass(frozen=True, slots=True)
class ServerLoad:
    """Shares from 0 to 1 of what a server may use, and what its open vaults take of them."""

    cpu: float
    memory: float
    vaults: tuple[VaultLoad, ...]


class LoadMeter:
    """Asked again and again by one thread. Averages go ``over_s``: what was before counts for a third by then.

    Processor time is the process's own. What a vault takes of it is told by its calls: all that work goes through
    threads that many vaults share, and to have each piece of it timed would cost more than an error here, which the
    next look at the whole puts right."""

    def __init__(
        self,
        over_s: float,
        memory_budget: int,
        cores: float,
        clock: Callable[[], float] = time.monotonic,
        used: Callable[[], float] = time.process_time,
    ) -> None:
        self._over_s = over_s
        self._budget = memory_budget
        self._cores = cores
        self._clock = clock
        self._used = used
        self._before = clock(), used()
        self._cpu = 0.0
        self._calls: dict[str, int] = {}
        self._rates: dict[str, float] = {}

    def sample(self, uses: Sequence[VaultUse]) -> ServerLoad:
        """``uses``: of every open vault."""
        now, used = self._clock(), self._used()
        (since, used_then), self._before = self._before, (now, used)
        if now <= since:
            return self._load(uses)
        kept = math.exp((since - now) / self._over_s)
        self._cpu = kept * self._cpu + (1 - kept) * (used - used_then) / (now - since) / self._cores
        self._rates = {each.vault: kept * self._rates.get(each.vault, 0.0) + self._new_calls(each) for each in uses}
        self._calls = {each.vault: each.calls for each in uses}
        return self._load(uses)

    def _new_calls(self, use: VaultUse) -> int:
        before = self._calls.get(use.vault, 0)
        return use.calls - before if use.calls >= before else use.calls  # it was closed and opened anew

    def _load(self, uses: Sequence[VaultUse]) -> ServerLoad:
        memory = sum(each.vector_bytes for each in uses) / self._budget
        total = sum(self._rates.values())
        vaults = tuple(
            VaultLoad(
                each.vault,
                self._cpu * self._rates.get(each.vault, 0.0) / total if total else 0.0,
                each.vector_bytes / self._budget,
            )
            for each in uses
        )
        return ServerLoad(min(1.0, self._cpu), min(1.0, memory), vaults)


def usable_cores(limit: Path = CGROUP_LIMIT) -> float:
    """How many cores this process may use: of the machine, or as many as its container is allowed."""
    cores = float(len(os.sched_getaffinity(0)))
    try:
        allowed, period = limit.read_text().split()
        return min(cores, int(allowed) / int(period))
    except (OSError, ValueError, ZeroDivisionError):  # no container, or one that may use all
        return cores
