"""``python -m bench.cluster_simulation``: 10,000 vaults and 10,000,000 passages, with 1,000 and with 10,000 agents.

Prints one table of runs, one of capacity, and where it breaks first. Nothing here is measured: the inputs were.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.cluster_simulation.capacity import calls_until_full, capacity_of
from bench.cluster_simulation.cluster_model import ClusterModel, Loss, Outcome
from bench.cluster_simulation.inputs import AGENT_CALL_S, PATIENCE_S, PEAK, WATCH_S, ServiceTimes
from bench.cluster_simulation.vaults import Vaults, make_vaults

VAULTS, PASSAGES, EXPONENT, SEED = 10_000, 10_000_000, 1.0, 21
ZONES, LOST_AT_S = 3, 30.0


@dataclass(frozen=True, slots=True)
class Scenario:
    """``pace``: how many times an agent's usual number of calls."""

    agents: int
    pace: float
    servers: int
    cores: int
    seconds: float
    lost: str = "nothing"

    @property
    def loss(self) -> Loss | None:
        zone = tuple(range(0, self.servers, ZONES))
        return {
            "nothing": None,
            "a server": Loss(LOST_AT_S, (0,)),
            "a zone": Loss(LOST_AT_S, zone),
            "a zone, PostgreSQL's": Loss(LOST_AT_S, zone, takes_database=True),
        }[self.lost]


LOSSES = ("a server", "a zone", "a zone, PostgreSQL's")
SMALL, LARGE = (4, 2), (18, 4)
"""Servers and their cores, for 1,000 and for 10,000 agents: enough for peaks with 60 % of them busy, in three zones."""

SCENARIOS = (
    Scenario(1_000, 1.0, *SMALL, 120.0),
    Scenario(1_000, PEAK, *SMALL, 60.0),
    *(Scenario(1_000, PEAK, *SMALL, 90.0, lost) for lost in LOSSES),
    Scenario(10_000, 1.0, *LARGE, 60.0),
    *(Scenario(10_000, 1.0, *LARGE, 90.0, lost) for lost in LOSSES),
    Scenario(10_000, 2.5, *LARGE, 40.0),
    Scenario(10_000, PEAK, *LARGE, 20.0),
)

COLUMNS = (
    "agents",
    "pace",
    "servers",
    "lost",
    "calls/s",
    "p50",
    "p99",
    "lost p50",
    "lost p99",
    "vaults back",
    "gave up",
)


def run(scenario: Scenario, vaults: Vaults) -> Outcome:
    model = ClusterModel(vaults, scenario.servers, scenario.cores, ServiceTimes(), SEED)
    return model.run(scenario.agents, AGENT_CALL_S / scenario.pace, scenario.seconds, scenario.loss)


def row(scenario: Scenario, outcome: Outcome) -> list[str]:
    """The latencies of calls that a loss did not touch, and of those it did."""
    apart = [each.took for each in outcome.answered if not each.was_lost]
    touched = [each.took for each in outcome.answered if each.was_lost]
    return [
        f"{scenario.agents:,}",
        f"{scenario.pace:g}",
        f"{scenario.servers} × {scenario.cores}",
        scenario.lost,
        f"{len(outcome.answered) / scenario.seconds:,.0f}",
        *(milliseconds(quantile(apart, share)) for share in (0.5, 0.99)),
        *(milliseconds(quantile(touched, share)) for share in (0.5, 0.99)),
        milliseconds(quantile(busy_vaults_back(outcome), 0.95)),
        f"{sum(took > PATIENCE_S for took in (*apart, *touched)):,}",
    ]


def busy_vaults_back(outcome: Outcome) -> list[float]:
    """Seconds from the loss until vaults were there again which somebody called before they could be."""
    noticed_at = LOST_AT_S + WATCH_S[0]
    return [back - LOST_AT_S for vault, back in outcome.back_at.items() if outcome.asked_at[vault] < noticed_at]


def quantile(values: Sequence[float], share: float) -> float | None:
    """None of none."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else None


def milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def capacity_rows(vaults: Vaults) -> Iterable[list[str]]:
    yield [
        "agents",
        "pace",
        "servers",
        "busy cores",
        "memory",
        "disk",
        "PostgreSQL",
        "log",
        "open",
        "a vault and month",
    ]
    for agents, (servers, cores) in ((1_000, SMALL), (10_000, LARGE)):
        for pace in (1.0, PEAK):
            found = capacity_of(vaults, agents * pace / AGENT_CALL_S, servers, cores)
            yield [
                f"{agents:,}",
                f"{pace:g}",
                f"{servers} × {cores}",
                f"{found.cores:.1f}",
                *(f"{size / 1e9:.0f} GB" for size in (found.memory, found.disk, found.stored)),
                f"{found.log / 1e6:.2f} MB/s",
                f"{found.open_vaults:,.0f}",
                f"{found.dollars / len(vaults.passages) * 100:.1f} cents",
            ]


def breaking_rows() -> Iterable[list[str]]:
    """Also where calls are spread more evenly: with an exponent of 1 a tenth of all calls is for one vault."""
    yield ["Zipf", "servers", "used up first", "at calls/s", "agents at peak"]
    for exponent in (EXPONENT, 0.7):
        vaults = make_vaults(VAULTS, PASSAGES, exponent, SEED)
        for servers, cores in ((4, 2), (12, 2), (36, 2), (18, 4), (100, 4)):
            what, calls = calls_until_full(vaults, servers, cores)
            at_peak = f"{math.floor(calls * AGENT_CALL_S / PEAK):,}"
            yield [f"{exponent:g}", f"{servers} × {cores}", what, f"{calls:,.0f}", at_peak]


def markdown(rows: Iterable[Sequence[str]]) -> str:
    head, *rest = rows
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rest))


def main() -> int:
    vaults = make_vaults(VAULTS, PASSAGES, EXPONENT, SEED)
    rows: list[Sequence[str]] = [COLUMNS]
    for scenario in SCENARIOS:
        print(f"{scenario} ...", file=sys.stderr, flush=True)
        rows.append(row(scenario, run(scenario, vaults)))
    for table in (rows, capacity_rows(vaults), breaking_rows()):
        print(markdown(table), end="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
