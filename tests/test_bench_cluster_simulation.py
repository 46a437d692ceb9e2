"""The model of a cluster: its pieces against what is known of them, and nothing that goes in stays in.

Covers bench.cluster_simulation.
"""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from bench.cluster_simulation.capacity import calls_until_full, capacity_of, utilisations
from bench.cluster_simulation.cluster_model import ClusterModel, Loss, Outcome
from bench.cluster_simulation.events import Clock, GroupedAppends, Station
from bench.cluster_simulation.inputs import LEASE_S, WATCH_S, WRITES, ServiceTimes
from bench.cluster_simulation.vaults import Vaults, make_vaults, preferred

SMALL = make_vaults(200, 20_000, 1.0, 1)


def simulated(loss: Loss | None = None, seed: int = 1) -> tuple[ClusterModel, Outcome]:
    model = ClusterModel(SMALL, 3, 2, ServiceTimes(), seed)
    return model, model.run(50, 1.0, 20.0, loss)


def test_one_place_with_random_work_is_the_queue_of_the_books() -> None:
    """M/M/1: the mean time inside is 1 / (served - come) a second."""
    clock, chance, took = Clock(), random.Random(3), []
    station, come, served = Station(clock, 1), 60.0, 100.0

    def enter(left: int) -> None:
        came = clock.now
        station.serve(chance.expovariate(served), lambda: took.append(clock.now - came))
        if left:
            clock.after(chance.expovariate(come), lambda: enter(left - 1))

    enter(200_000)
    clock.run()
    assert sum(took) / len(took) == pytest.approx(1 / (served - come), rel=0.05)
    assert station.busy / clock.now == pytest.approx(come / served, rel=0.02)


def test_as_many_are_served_at_once_as_there_are_places() -> None:
    clock, ended = Clock(), []
    station = Station(clock, 3)
    for _ in range(7):
        station.serve(1.0, lambda: ended.append(clock.now))
    clock.run()
    assert ended == [1.0] * 3 + [2.0] * 3 + [3.0]


def test_what_comes_while_an_append_is_under_way_goes_together() -> None:
    clock, ended = Clock(), []
    appends = GroupedAppends(clock, Station(clock, 2), 0.5, 0.5)
    for _ in range(5):
        appends.append(lambda: ended.append(clock.now))
    clock.run()
    assert ended == [1.0] + [2.0] * 4
    assert appends.appends == 2


@pytest.mark.parametrize("loss", [None, Loss(5.0, (1,)), Loss(5.0, (0, 1)), Loss(5.0, (0,), takes_database=True)])
def test_every_call_is_answered_once_and_nothing_stays_inside(loss: Loss | None) -> None:
    model, outcome = simulated(loss)
    assert len({id(each) for each in outcome.answered}) == len(outcome.answered) > 300
    stations = [model.database, *(each for server in model.servers for each in (server.interpreter, server.cores))]
    assert [each.inside for each in stations] == [0] * len(stations)


def test_the_same_seed_gives_the_same_run() -> None:
    loss = Loss(5.0, (1,))
    assert simulated(loss)[1] == simulated(loss)[1]
    assert simulated(loss)[1] != simulated(loss, seed=2)[1]


def test_without_a_loss_a_call_takes_its_service_times_and_little_more() -> None:
    times = ServiceTimes()
    _, outcome = simulated()
    took = sorted(each.took for each in outcome.answered)
    assert took[0] == pytest.approx(times.recall.processor)
    assert took[len(took) // 2] < times.recall.processor + times.forwarded + 0.002
    assert not any(each.was_lost for each in outcome.answered)


def test_vaults_of_a_lost_server_are_away_for_a_lease_and_their_restore() -> None:
    model, outcome = simulated(Loss(5.0, (1,)))
    assert outcome.back_at
    for vault, back in outcome.back_at.items():
        assert preferred(vault, [0, 1, 2]) == 1
        assert back >= 5.0 + WATCH_S[0]
    touched = [each.took for each in outcome.answered if each.was_lost]
    assert max(touched) < WATCH_S[1] + 1.0
    assert not model.servers[1].is_alive


def test_without_postgresql_nobody_is_answered_once_the_leases_are_over() -> None:
    _, outcome = simulated(Loss(5.0, (0,), takes_database=True))
    ended = [each.came + each.took for each in outcome.answered]
    assert [each for each in ended if 5.0 + LEASE_S < each < 40.0] == []


def test_who_loses_a_server_keeps_all_other_vaults_where_they_are() -> None:
    before = {vault: preferred(vault, [0, 1, 2, 3]) for vault in range(2_000)}
    after = {vault: preferred(vault, [0, 1, 3]) for vault in range(2_000)}
    assert all(after[vault] == server for vault, server in before.items() if server != 2)
    assert all(400 < number < 600 for number in Counter(before.values()).values())


def test_sizes_add_up_and_calls_follow_zipf() -> None:
    vaults = make_vaults(1_000, 1_000_000, 1.0, 5)
    assert sum(vaults.passages) == pytest.approx(1_000_000, rel=0.01)
    assert sum(vaults.shares) == pytest.approx(1.0)
    assert vaults.shares[0] / vaults.shares[9] == pytest.approx(10.0)
    chance = random.Random(1)
    drawn = Counter(vaults.draw(chance) for _ in range(20_000))
    assert drawn[0] / 20_000 == pytest.approx(vaults.shares[0], rel=0.1)


def test_what_is_used_up_first_is_used_up_at_the_rate_that_is_told() -> None:
    what, calls = calls_until_full(SMALL, 3, 2)
    used = utilisations(SMALL, calls, 3, 2)
    assert used[what] == pytest.approx(1.0) == max(used.values())


def test_capacity_is_the_formula_by_hand_for_one_vault() -> None:
    found = capacity_of(Vaults([1_000], [1.0]), 10.0, 1, 2)
    assert found.open_vaults == pytest.approx(1.0)
    assert found.memory == pytest.approx(0.26e9 + 0.25e6 + 1.58e6)
    assert found.disk == pytest.approx(0.67e6 + 6.2e6)
    assert found.stored == pytest.approx((0.012e6 + 2.5e6) * 1.25)
    assert found.cores == pytest.approx(10 * (0.85 * 0.0073 + 0.15 * 0.0067))
    assert found.log == pytest.approx(10 * WRITES * 5.1e3)
    assert math.isfinite(found.dollars)
