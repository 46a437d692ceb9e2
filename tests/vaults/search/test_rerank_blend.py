"""Properties of the blend: the same passages, in falling order, with the tail untouched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.search.rerank_blend import blend, retrieval_share

scores = st.floats(-10, 10, allow_nan=False)
orders = st.dictionaries(st.integers(1, 99), scores, max_size=60).map(
    lambda found: sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
)
opinions = st.dictionaries(st.integers(1, 99), st.floats(0, 1), max_size=99)
heads = st.integers(-1, 70)


@given(orders, opinions, heads)
def test_the_result_is_the_same_passages_in_falling_order(
    order: list[tuple[int, float]], opinion: dict[int, float], head: int
) -> None:
    blended = blend(order, opinion, head)
    assert sorted(passage for passage, _ in blended) == sorted(passage for passage, _ in order)
    found = [score for _, score in blended]
    assert found == sorted(found, reverse=True)


@given(orders, opinions, heads)
def test_what_is_below_the_head_keeps_its_place_and_score(
    order: list[tuple[int, float]], opinion: dict[int, float], head: int
) -> None:
    cut = max(0, head)
    assert blend(order, opinion, head)[cut:] == order[cut:]


@given(orders, opinions, heads)
def test_no_score_leaves_the_range_the_head_had(
    order: list[tuple[int, float]], opinion: dict[int, float], head: int
) -> None:
    top = blend(order, opinion, head)[: max(0, head)]
    assert all(order[len(top) - 1][1] <= score <= order[0][1] for _, score in top)


@given(orders, st.integers(1, 70))
def test_a_model_of_the_same_opinion_changes_nothing(order: list[tuple[int, float]], head: int) -> None:
    blended = blend(order, dict(order), head)
    assert [score for _, score in blended] == pytest.approx([score for _, score in order])


@given(orders, opinions)
def test_passages_the_list_does_not_hold_and_an_empty_head_do_nothing(
    order: list[tuple[int, float]], opinion: dict[int, float]
) -> None:
    strangers = {-passage: score for passage, score in opinion.items()}
    assert blend(order, strangers, 30) == order
    assert blend(order, opinion, 0) == order


@pytest.mark.parametrize(
    ("rank", "share"), [(1, 0.75), (3, 0.75), (4, 0.6), (10, 0.6), (11, 0.4), (30, 0.4), (1000, 0.4)]
)
def test_the_share_of_retrieval_falls_in_three_bands(rank: int, share: float) -> None:
    assert retrieval_share(rank) == share


def test_scores_are_mixed_as_the_bands_say() -> None:
    order = [(n, 1.0 - n / 20) for n in range(1, 12)]  # 0.95 … 0.45, eleven passages
    blended = dict(blend(order, {n: 1.0 if n == 11 else 0.0 for n in range(1, 12)}, 11))
    assert blended[1] == pytest.approx(0.45 + 0.5 * 0.75)
    assert blended[4] == pytest.approx(0.45 + 0.5 * 0.6 * 0.7)
    assert blended[11] == pytest.approx(0.45 + 0.5 * 0.6)


def test_what_the_model_prefers_rises_within_the_head_only() -> None:
    order = [(1, 0.9), (2, 0.85), (3, 0.8), (4, 0.2), (5, 0.1)]
    blended = blend(order, {1: 0.5, 2: 0.1, 3: 0.9, 4: 0.9, 5: 1.0}, 4)
    assert [passage for passage, _ in blended] == [3, 1, 2, 4, 5]


def test_the_order_of_equal_scores_is_the_models() -> None:
    order = [(1, 0.5), (2, 0.5), (3, 0.5), (4, 0.2)]
    assert blend(order, {1: 0.1, 2: 0.2, 3: 0.3}, 3) == [(3, 0.5), (2, 0.5), (1, 0.5), (4, 0.2)]


def test_a_passage_without_an_opinion_keeps_its_own() -> None:
    order = [(1, 1.0), (2, 0.5), (3, 0.0)]
    assert blend(order, {1: 0.0, 3: 0.0}, 3)[1] == (2, 0.5)
