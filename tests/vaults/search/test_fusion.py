"""Properties of the fusion: nothing is lost, order is total, scores stay in bounds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaults.search.fusion import dense_weight, reciprocal_rank, weighted

finite = st.integers(-1_000_000, 1_000_000).map(lambda n: n / 1000)  # differences a float can tell apart
channel = st.dictionaries(st.integers(1, 40), finite, max_size=20).map(
    lambda scores: dict(sorted(scores.items(), key=lambda pair: -pair[1]))
)


@given(channel, channel, st.floats(0, 1))
def test_no_hit_of_either_channel_is_lost(words: dict[int, float], dense: dict[int, float], weight: float) -> None:
    for fused in (weighted(words, dense, weight), reciprocal_rank(words, dense)):
        assert [passage for passage, _ in fused] == list(dict(fused))
        assert dict(fused).keys() == words.keys() | dense.keys()


@given(channel, channel, st.floats(0, 1))
def test_scores_lie_between_0_and_1_and_fall(words: dict[int, float], dense: dict[int, float], weight: float) -> None:
    for fused in (weighted(words, dense, weight), reciprocal_rank(words, dense)):
        scores = [score for _, score in fused]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 + 1e-9 for score in scores)


@given(channel)
def test_one_channel_alone_keeps_its_order(hits: dict[int, float]) -> None:
    order = sorted(hits, key=lambda passage: (-hits[passage], passage))
    assert [passage for passage, _ in weighted(hits, {}, 0.3)] == order
    assert [passage for passage, _ in weighted({}, hits, 0.3)] == order


@given(st.floats(0, 1e6))
def test_the_dense_weight_grows_with_passage_length_within_bounds(length: float) -> None:
    assert 0.3 <= dense_weight(length) <= 0.5
    assert dense_weight(length) <= dense_weight(length + 100)
