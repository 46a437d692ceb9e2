"""Covers auth.plan_holders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth.plan_holders import PlanHolder, PlanHolders, list_plan_assignments, load_holders, remove_plan, set_plan
from auth.plans import LIMIT_NAMES, NO_LIMITS, Limits, PlanBound, max_limits
from auth.principal import LOCAL, Principal, external_names, local_names, owner
from auth.settings import LimitSettings, PlanSettings
from tests.auth.plans import lifting, plans_of
from vaults.db.transactions import Transactions
from vaults.errors import NotFound, QuotaExceeded

ALICE = Principal("alice", LOCAL, local_names("alice"))
ANN = Principal("ann", "https://id.example", external_names("ann", "ann@example.org", ("devs", "ops")))
TEAM = {"stores_per_day": 50, "memories": 1000, "size": "2KB", "calls_per_minute": 60}


def test_without_settings_nobody_has_a_limit() -> None:
    plans = plans_of()
    assert plans.of_vault("main").limits == plans.of_caller(ALICE).limits == NO_LIMITS
    assert plans.of_vault("main").plan == "unlimited"


def test_the_free_plan_has_twenty_stores_a_day_and_two_hundred_memories() -> None:
    plans = plans_of(LimitSettings(plan="free"))
    assert plans.of_vault("main").limits == plans.of_caller(ALICE).limits == Limits(20, 200)


def test_numbers_of_the_limits_stand_in_for_those_of_the_default_plan_only() -> None:
    limits = LimitSettings(plan="free", stores_per_day=5, memories=7, vault_size="1KB")
    plans = plans_of(limits, PlanHolders({"big": "team"}, {LOCAL: {"alice": "team"}}), team=TEAM)
    assert plans.of_vault("main").limits == Limits(20, 7, 1000)
    assert plans.of_caller(ANN).limits == Limits(5, 200)
    assert plans.of_vault("big").limits == plans.of_caller(ALICE).limits == Limits(50, 1000, 2000, 60)


def test_plans_of_a_caller_and_its_groups_add_up() -> None:
    subjects = {"email:ann@example.org": "free", "group:devs": "team", "group:others": "huge"}
    plans = plans_of(holders=PlanHolders({}, {ANN.issuer: subjects}), team={"memories": 5}, huge={})
    held = plans.of_caller(ANN)
    assert held.plan == "free+team"
    assert held.limits == Limits(stores_per_day=None, memories=200)
    assert plans.of_caller(Principal("ann", "https://other.example", ANN.names)).plan == "unlimited"


def test_a_plan_nobody_defines_any_more_counts_as_the_default_and_is_named() -> None:
    plans = plans_of(LimitSettings(plan="free"), PlanHolders({"main": "gone"}, {}))
    assert plans.of_vault("main").plan == "free"
    assert plans.undefined() == ["gone"]


def test_a_licence_lifts_the_numbers_it_names_and_lowers_none() -> None:
    free = LimitSettings(plan="free")
    lifted = plans_of(free, licence=lifting(free={"stores_per_day": 500, "memories": 10})).of_vault("main").limits
    assert lifted == Limits(500, 200)
    assert plans_of(free, licence=lifting(free={"memories": None})).of_caller(ALICE).limits == Limits(20, None)
    assert plans_of(free, licence=lifting(team={"memories": None})).of_vault("main").limits == Limits(20, 200)


def test_an_admin_licence_lifts_every_limit_of_every_plan() -> None:
    plans = plans_of(LimitSettings(memories=1), PlanHolders({"a": "team"}, {}), lifting("admin"), team=TEAM)
    assert plans.of_vault("a").limits == plans.of_vault("b").limits == NO_LIMITS


def test_the_owner_of_the_machine_is_on_the_default_plan() -> None:
    assert plans_of(LimitSettings(plan="free"), PlanHolders({}, {LOCAL: {"owner": "x"}})).of_caller(
        owner("cli")
    ).plan == ("free")


@given(st.lists(st.builds(Limits, *[st.none() | st.integers(0, 9)] * len(LIMIT_NAMES)), min_size=1))
def test_the_highest_of_several_bounds_is_none_or_one_of_them(several: list[Limits]) -> None:
    for name in LIMIT_NAMES:
        numbers = [getattr(each, name) for each in several]
        highest = getattr(max_limits(several), name)
        assert highest in numbers
        assert highest is None or (None not in numbers and highest == max(numbers))


@given(limit=st.integers(0, 50), held=st.integers(0, 100), more=st.integers(0, 100))
def test_what_fits_never_passes_the_bound(limit: int, held: int, more: int) -> None:
    bound = PlanBound("memories", "vault", "free", limit)
    try:
        fits = bound.fitting(held, more)
    except QuotaExceeded:
        assert held > limit or (more and held == limit)
    else:
        assert held + fits <= limit
        assert fits == min(more, limit - held)


def test_a_refusal_says_what_is_used_up_and_no_more_than_that() -> None:
    with pytest.raises(QuotaExceeded) as caught:
        PlanBound("memories", "vault", "free", 200).fitting(260, 1)
    expected = {"what": "memories", "scope": "vault", "limit": 200, "used": 200, "left": 0}
    assert caught.value.details == expected
    assert "plan free" in caught.value.message


async def test_who_is_on_which_plan_is_kept(control: Transactions) -> None:
    main, ann = PlanHolder("vault", "main"), PlanHolder("subject", "group:devs", ANN.issuer)
    for holder, plan in ((main, "free"), (ann, "free"), (main, "team")):
        await control.write(lambda tx, holder=holder, plan=plan: set_plan(tx, holder, plan))
    holders = await control.read(load_holders)
    assert holders == PlanHolders({"main": "team"}, {ANN.issuer: {"group:devs": "free"}})
    assert holders.plans_of(ANN) == ["free"]
    await control.write(lambda tx: remove_plan(tx, main))
    assert [each.holder for each in await control.read(list_plan_assignments)] == [ann]
    with pytest.raises(NotFound):
        await control.write(lambda tx: remove_plan(tx, main))


@pytest.mark.parametrize("numbers", [{"memories": -1}, {"size": "big"}, {"vaults": 3}, {"calls_per_minute": 0}])
def test_a_plan_with_impossible_numbers_is_refused(numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        PlanSettings.model_validate(numbers)
