"""What goes and what must not, whatever the limits (vaults.domain.maintenance.eviction_plan)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaults.domain.maintenance.eviction_plan import (
    STAGES,
    EvictionCandidate,
    EvictionNeed,
    EvictionPlan,
    KindNeed,
)
from vaults.settings import EvictableKind

DAYS = [f"2026-01-{day:02}T00:00:00.000Z" for day in range(1, 29)]
KINDS: tuple[EvictableKind, ...] = ("transcript", "document", "code", "memory")

candidates = st.builds(
    EvictionCandidate,
    kind=st.sampled_from(KINDS),
    seq=st.integers(1, 10**6),
    id=st.uuids().map(str),
    title=st.just("t"),
    size=st.integers(0, 1000),
    used=st.sampled_from(DAYS),
    stored=st.sampled_from(DAYS),
    pin=st.sampled_from([None, None, None, "tagged pinned"]),
)
needs = st.builds(
    EvictionNeed,
    over=st.integers(-500, 5000),
    by_plan=st.booleans(),
    kinds=st.dictionaries(
        st.sampled_from(KINDS),
        st.builds(KindNeed, before=st.none() | st.sampled_from(DAYS), over=st.integers(-500, 3000)),
    ),
)


def planned(need: EvictionNeed, items: list[EvictionCandidate]) -> EvictionPlan:
    plan = EvictionPlan(need)
    for stage in STAGES:
        plan.add(sorted((each for each in items if each.kind in stage), key=lambda each: (each.used, each.seq)))
    return plan


@given(needs, st.lists(candidates, max_size=40))
def test_nothing_pinned_goes_and_only_kinds_that_may(need: EvictionNeed, items: list[EvictionCandidate]) -> None:
    for each in planned(need, items).goes:
        assert each.candidate.pin is None
        assert each.candidate.kind in need.kinds


@given(needs, st.lists(candidates, max_size=40))
def test_what_is_too_old_goes_and_nothing_goes_without_a_need(
    need: EvictionNeed, items: list[EvictionCandidate]
) -> None:
    plan = planned(need, items)
    went = {id(each.candidate) for each in plan.goes}
    for each in items:
        own = need.kinds.get(each.kind)
        old = own is not None and own.before is not None and max(each.used, each.stored) < own.before
        if old and each.pin is None:
            assert id(each) in went
        elif need.over <= 0 and (own is None or own.over <= 0):
            assert id(each) not in went


@given(st.integers(1, 5000), st.lists(candidates, max_size=40))
def test_a_size_is_kept_by_the_oldest_first_and_by_no_more_than_is_needed(
    over: int, items: list[EvictionCandidate]
) -> None:
    plan = planned(EvictionNeed(over, kinds={kind: KindNeed() for kind in KINDS}), items)
    sizes = [each.candidate.size for each in plan.goes]
    assert sum(sizes[:-1]) < over, "it stops once it fits"
    free = [each for each in items if each.pin is None]
    assert sum(sizes) >= min(over, sum(each.size for each in free))
    stages = [next(n for n, stage in enumerate(STAGES) if each.candidate.kind in stage) for each in plan.goes]
    assert stages == sorted(stages), "transcripts, then documents and code, then memories"
    for stage in STAGES:
        used = [each.candidate.used for each in plan.goes if each.candidate.kind in stage]
        assert used == sorted(used), "oldest first"


def test_the_reason_names_the_plan_where_its_limit_is_the_lower() -> None:
    one = EvictionCandidate("transcript", 1, "i", "t", 10, DAYS[0], DAYS[0])
    (gone,) = planned(EvictionNeed(5, by_plan=True, kinds={"transcript": KindNeed()}), [one]).goes
    assert gone.reason == "plan"


def test_a_stage_is_read_only_as_far_as_it_may_matter() -> None:
    need = EvictionNeed(0, kinds={"transcript": KindNeed(before=DAYS[5])})
    assert need.wants(["transcript"])
    assert not need.wants(["transcript"], DAYS[5])
    assert not need.wants(["document", "code"])
    assert EvictionNeed(1, kinds={"document": KindNeed()}).wants(["document", "code"], DAYS[20])
