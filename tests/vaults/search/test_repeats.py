"""Repeats go, the order stays, and each thing left out says for which."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaults.search.repeats import DroppedResult, drop_repeats

ranking = st.dictionaries(st.integers(1, 60), st.sampled_from(["", "a", "b", "c", "d"]), max_size=30)


def _ranked(items: dict[int, str]) -> list[tuple[int, float]]:
    return [(item, 1 / (place + 1)) for place, item in enumerate(items)]


def test_a_repeat_goes_and_names_what_it_repeats() -> None:
    kept, dropped = drop_repeats([(1, 0.9), (2, 0.8), (3, 0.7)], {1: "x", 2: "y", 3: "x"}.__getitem__)
    assert kept == [(1, 0.9), (2, 0.8)]
    assert dropped == [DroppedResult(3, 0.7, of=1, why="repeats")]


def test_a_parent_may_be_held_to_a_share() -> None:
    ranked = [(1, 0.9), (2, 0.8), (3, 0.7), (4, 0.6)]
    kept, dropped = drop_repeats(ranked, str, {1: "p", 2: "p", 3: "p", 4: None}.__getitem__, share=2)
    assert kept == [(1, 0.9), (2, 0.8), (4, 0.6)]
    assert dropped == [DroppedResult(3, 0.7, of=1, why="crowded")]


def test_what_repeats_takes_no_part_of_its_parents_share() -> None:
    ranked = [(1, 0.9), (2, 0.8), (3, 0.7)]
    kept, _ = drop_repeats(ranked, {1: "x", 2: "x", 3: "y"}.__getitem__, lambda _: "p", share=2)
    assert kept == [(1, 0.9), (3, 0.7)]


@given(ranking)
def test_nothing_is_lost_or_moved(texts: dict[int, str]) -> None:
    ranked = _ranked(texts)
    kept, dropped = drop_repeats(ranked, texts.__getitem__)
    assert kept == [pair for pair in ranked if pair in kept]
    assert sorted([*kept, *((gone.item, gone.score) for gone in dropped)]) == sorted(ranked)
    told = [texts[item] for item, _ in kept if texts[item]]
    assert len(told) == len(set(told))
    for gone in dropped:
        assert texts[gone.item] == texts[gone.of] != ""
        assert gone.of in dict(kept)
        assert dict(kept)[gone.of] >= gone.score


@given(ranking)
def test_without_equal_texts_nothing_changes(texts: dict[int, str]) -> None:
    ranked = _ranked(texts)
    assert drop_repeats(ranked, str) == (ranked, [])
