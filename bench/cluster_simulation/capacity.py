"""What an installation takes when nothing happens: cores, memory, disk, money, and what is used up first."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bench.cluster_simulation.inputs import WRITES, Prices, ServiceTimes, Sizes
from bench.cluster_simulation.vaults import Vaults, preferred

DATABASE_CORES = 2
IDLE_S = 1800.0
"""After which a vault that nobody calls is closed. Assumed."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """At ``calls`` a second: ``cores`` are kept busy by servers, of those there are; ``memory`` and ``disk`` of all
    servers and ``stored`` in PostgreSQL in bytes; ``log`` bytes a second; ``dollars`` a month."""

    cores: float
    memory: float
    disk: float
    stored: float
    log: float
    dollars: float
    open_vaults: float


def capacity_of(vaults: Vaults, calls: float, servers: int, cores: int) -> Capacity:
    sizes, prices, times = Sizes(), Prices(), ServiceTimes()
    total, count = sum(vaults.passages), len(vaults.passages)
    is_open = [1 - math.exp(-calls * share * IDLE_S) for share in vaults.shares]
    opened = sum(is_open)
    memory = servers * sizes.server + opened * sizes.open_vault
    memory += sizes.open_passage * sum(map(float.__mul__, is_open, map(float, vaults.passages)))
    disk = count * sizes.disk_vault + total * sizes.disk_passage
    stored = (count * sizes.stored_vault + total * sizes.stored_passage) * (1 + sizes.log_share)
    dollars = servers * cores * prices.core + prices.database + prices.balancer
    dollars += stored / 1e9 * prices.stored_gb + disk / 1e9 * prices.disk_gb
    busy = calls * (_mean_processor(times) + times.forwarded * (servers - 1) / servers)
    return Capacity(busy, memory, disk, stored, calls * WRITES * sizes.append, dollars, opened)


def utilisations(vaults: Vaults, calls: float, servers: int, cores: int) -> dict[str, float]:
    """The share of its time that each thing is used which only one call can use at a time: at 1 it is used up."""
    times = ServiceTimes()
    shares = [0.0] * servers
    for vault, share in enumerate(vaults.shares):
        shares[preferred(vault, list(range(servers)))] += share
    hottest = max(shares)
    lock = (1 - WRITES) * times.recall.interpreter + WRITES * times.remember.interpreter
    passing = times.forwarded * (servers - 1) / servers / servers
    return {
        "Python's lock of the busiest server": calls * (hottest * lock + passing),
        "the cores of the busiest server": calls * (hottest * _mean_processor(times) + passing) / cores,
        "Python's lock for the busiest vault": calls * vaults.shares[0] * lock,
        "PostgreSQL's cores": calls * WRITES * times.append_processor / DATABASE_CORES,
    }


def calls_until_full(vaults: Vaults, servers: int, cores: int) -> tuple[str, float]:
    """What is used up first when calls grow, and at how many a second."""
    used = utilisations(vaults, 1.0, servers, cores)
    first = max(used, key=lambda name: used[name])
    return first, 1 / used[first]


def _mean_processor(times: ServiceTimes) -> float:
    return (1 - WRITES) * times.recall.processor + WRITES * times.remember.processor
