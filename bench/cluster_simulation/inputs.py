"""What the model is fed with, and where each number is from.

Processor times are of one slow core of the machine that docs/figures.md names. What is assumed says so.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CallCost:
    """Seconds of one call. ``interpreter``: holding Python's lock, one call at a time in a process; ``beside``: the
    model and SQLite, on any core."""

    interpreter: float
    beside: float

    @property
    def processor(self) -> float:
        return self.interpreter + self.beside


@dataclass(frozen=True, slots=True)
class ServiceTimes:
    recall: CallCost = CallCost(0.0032, 0.0041)
    """docs/performance.md: 7.3 ms of processor time, of which the lock is held for 3.2."""
    remember: CallCost = CallCost(0.0030, 0.0037)
    """docs/performance.md: 6.7 ms with many clients at once, 4.7 of them the model, most of that without the lock."""
    forwarded: float = 0.0006
    """Of the server that passes a call on, with the lock. `python -m bench --only cluster`: what is added to a call."""
    append: float = 0.003
    """Until PostgreSQL has answered: one trip in a region, and its commit on two machines. Assumed."""
    append_processor: float = 0.0005
    """Of PostgreSQL: an append of 12 KB, measured in the study."""
    opening: CallCost = CallCost(0.015, 0.025)
    """Of taking a vault and opening it, whatever its size."""
    restored_passage: float = 30e-6
    """Of restoring: 30 ms for a vault of 1,060 passages, measured with tests/vaults/cluster/test_stored_memories.py."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes, from the study and docs/figures.md."""

    server: float = 0.26e9
    open_vault: float = 0.25e6
    open_passage: float = 1.58e3
    disk_vault: float = 0.67e6
    disk_passage: float = 6.2e3
    stored_vault: float = 0.012e6
    stored_passage: float = 2.5e3
    log_share: float = 0.25
    append: float = 5.1e3


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars a month; list prices from memory, unverified: m7g.large, RDS db.m7g.large in two zones, gp3 for both of
    its disks, gp3 of a server, a balancer."""

    core: float = 30.0
    memory_gb: float = 0.0
    database: float = 245.0
    stored_gb: float = 0.23
    disk_gb: float = 0.08
    balancer: float = 25.0


LEASE_S = 3.0
WATCH_S = (LEASE_S * 1.01, LEASE_S * 1.26)
"""From a death to the removal of the dead server: its lease, and up to a quarter until somebody looks."""

FAIL_OVER_S = 35.0
"""Of a managed PostgreSQL with two readable standbys, as its vendor says; 60 to 120 s with one. Not measured. Promoting
one by hand took 0.2 s here (`make cluster`)."""

AGENT_CALL_S, WRITES, PEAK = 10.0, 0.15, 5.0
"""Assumed, as in the study: a call of each agent every ten seconds, a share of writes, peaks over the average."""

PATIENCE_S = 30.0
"""After which a client gives up."""
