"""Covers auth.rate_windows."""

import contextlib
import time
from collections.abc import Callable

import pytest

from auth.plan_holders import PlanHolders
from auth.principal import LOCAL, Principal, local_names
from auth.quotas import Quotas
from auth.rate_windows import SWEEP_AT, MonotonicWindows
from auth.settings import LimitSettings
from tests.auth.plans import plans_of
from tests.work import python_steps
from vaults.errors import Overloaded, RateLimited


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def who(name: str) -> Principal:
    return Principal(name, LOCAL, local_names(name))


def quotas_of(limits: LimitSettings, clock: Callable[[], float] = time.monotonic) -> Quotas:
    return Quotas(limits, plans_of(limits), clock=clock)


def call(quotas: Quotas, name: str, vault: str = "v1") -> None:
    with quotas.admit(who(name), vault):
        pass


def test_calls_above_the_rate_are_refused_with_the_time_to_wait_and_let_in_after_it() -> None:
    clock = Clock()
    quotas = quotas_of(LimitSettings(calls_per_minute=2), clock=clock)
    call(quotas, "alice")
    clock.now += 20
    call(quotas, "alice")
    with pytest.raises(RateLimited) as caught:
        call(quotas, "alice")
    assert caught.value.details["retry_after_s"] == 40.0
    call(quotas, "bob")
    clock.now += 40
    call(quotas, "alice")


def test_one_callers_rate_on_one_vault_leaves_the_others_alone() -> None:
    quotas = quotas_of(LimitSettings(vault_calls_per_minute=1), clock=Clock())
    call(quotas, "alice", "v1")
    with pytest.raises(RateLimited):
        call(quotas, "alice", "v1")
    call(quotas, "alice", "v2")
    call(quotas, "bob", "v1")


def test_names_that_contain_each_other_are_counted_apart() -> None:
    quotas = quotas_of(LimitSettings(vault_calls_per_minute=1), clock=Clock())
    for vault in ("a", "a/b", "b", ""):
        call(quotas, "alice", vault)


def test_calls_at_once_are_capped_and_places_come_back_also_after_an_error() -> None:
    quotas = quotas_of(LimitSettings(in_flight=1), clock=Clock())
    with contextlib.suppress(KeyError), quotas.admit(who("alice"), "v1") as ticket:
        with pytest.raises(Overloaded) as caught:
            quotas.admit(who("alice"), "v2")
        assert caught.value.retryable
        call(quotas, "bob")
        raise KeyError
    ticket.__exit__(None, None, None)  # a second exit gives back nothing
    with quotas.admit(who("alice"), "v1"), pytest.raises(Overloaded):
        quotas.admit(who("alice"), "v1")
    assert not quotas._running


def test_a_refused_call_takes_no_place() -> None:
    clock = Clock()
    quotas = quotas_of(LimitSettings(calls_per_minute=1, in_flight=1), clock=clock)
    call(quotas, "alice")
    for _ in range(3):
        with pytest.raises(RateLimited):
            quotas.admit(who("alice"), "v1")
    clock.now += 60
    call(quotas, "alice")


def test_the_calls_of_a_plan_bound_the_caller_that_is_on_it_below_those_of_the_settings() -> None:
    limits = LimitSettings(calls_per_minute=3)
    plans = plans_of(limits, PlanHolders({}, {LOCAL: {"alice": "slow", "bob": "quick"}}), slow={"calls_per_minute": 1},
        quick={"calls_per_minute": 9},
    )  # fmt: skip
    quotas = Quotas(limits, plans, clock=Clock())
    call(quotas, "alice")
    with pytest.raises(RateLimited) as caught:
        call(quotas, "alice")
    assert caught.value.details == {
        "retry_after_s": 60.0, "what": "calls_per_minute", "scope": "principal", "limit": 1,
    }  # fmt: skip
    for _ in range(3):
        call(quotas, "bob")
    with pytest.raises(RateLimited):
        call(quotas, "bob")


def test_the_calls_of_a_vaults_plan_are_those_of_all_its_callers() -> None:
    limits = LimitSettings()
    quotas = Quotas(
        limits, plans_of(limits, PlanHolders({"v1": "slow"}, {}), slow={"calls_per_minute": 2}), clock=Clock()
    )
    call(quotas, "alice")
    call(quotas, "bob")
    with pytest.raises(RateLimited) as caught:
        call(quotas, "carol")
    assert caught.value.details["scope"] == "vault"
    call(quotas, "carol", "v2")


def test_expired_counters_are_swept_out() -> None:
    clock = Clock()
    windows = MonotonicWindows(clock)
    for number in range(SWEEP_AT):
        windows.hit(f"k{number}", 60)
    clock.now += 61
    windows.hit("new", 60)
    assert len(windows) == 1


def test_admitting_a_call_is_cheap() -> None:
    quotas, alice = quotas_of(LimitSettings(calls_per_minute=10**9, vault_calls_per_minute=10**9)), who("alice")
    with quotas.admit(alice, "v1"):
        pass

    def admitted() -> None:
        with quotas.admit(alice, "v1"):
            pass

    for _ in range(500):
        admitted()
    assert python_steps(admitted) < 400  # 5 µs on a quiet machine
