"""Properties of the fusion: nothing is lost, scores stay in bounds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaults.search.fusion import fuse_reciprocal_ranks, fuse_weighted, sort_scores

finite = st.integers(-1_000_000, 1_000_000).map(lambda n: n / 1000)  # differences a float can tell apart
channel = st.dictionaries(st.integers(1, 40), finite, max_size=20).map(
    lambda scores: dict(sorted(scores.items(), key=lambda pair: -pair[1]))
)


@given(channel, channel, st.floats(0, 1))
def test_no_hit_of_either_channel_is_lost(words: dict[int, float], dense: dict[int, float], weight: float) -> None:
    for fused in (fuse_weighted(words, dense, weight), fuse_reciprocal_ranks(words, dense)):
        assert fused.keys() == words.keys() | dense.keys()


@given(channel, channel, st.floats(0, 1))
def test_scores_lie_between_0_and_1(words: dict[int, float], dense: dict[int, float], weight: float) -> None:
    for fused in (fuse_weighted(words, dense, weight), fuse_reciprocal_ranks(words, dense)):
        assert all(0 <= score <= 1 + 1e-9 for score in fused.values())


@given(channel)
def test_one_channel_alone_keeps_its_order(hits: dict[int, float]) -> None:
    for fused in (fuse_weighted(hits, {}, 0.3), fuse_weighted({}, hits, 0.3)):
        assert all(fused[one] > fused[other] for one in hits for other in hits if hits[one] > hits[other])


@given(st.dictionaries(st.integers(1, 40), st.sampled_from([-1.0, -0.0, 0.0, 0.5, 2.0]), max_size=20))
def test_the_best_come_first_and_of_equal_ones_the_lower_number(scores: dict[int, float]) -> None:
    assert sort_scores(scores) == sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
