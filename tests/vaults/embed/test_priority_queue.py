"""How waiting texts are ordered and cut. No threads, no models.

Covers vaults.embed.batches.
"""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from vaults.embed.batches import split_into_batches
from vaults.embed.priority_queue import EmbeddingRequest, Priority, PriorityQueue


@given(st.lists(st.integers(0, 900), max_size=80), st.integers(1, 600), st.integers(1, 40))
def test_slices_hold_every_text_once_and_stay_within_their_budget(lengths: list[int], budget: int, most: int) -> None:
    groups = split_into_batches(lengths, budget=budget, most=most)
    assert sorted(place for group in groups for place in group) == list(range(len(lengths)))
    for group in groups:
        assert 1 <= len(group) <= most
        assert len(group) == 1 or len(group) * max(lengths[place] for place in group) <= budget
    flat = [lengths[place] for group in groups for place in group]
    assert flat == sorted(flat)


def _put(lanes: PriorityQueue, lane: Priority, texts: list[str]) -> EmbeddingRequest:
    loop = asyncio.get_running_loop()
    ticket = EmbeddingRequest(loop.create_future(), loop, [None] * len(texts), len(texts))
    lanes.put(lane, texts, ticket, retry_after_s=1.0)
    return ticket


async def test_a_lane_passed_over_eight_times_gets_a_slice() -> None:
    lanes = PriorityQueue(limit=100, batch=1)
    _put(lanes, Priority.IMPORT, ["import"])
    _put(lanes, Priority.QUERY, [f"query {n}" for n in range(20)])
    taken = [lanes.take()[0].text for _ in range(10)]
    assert taken.index("import") == 8


async def test_a_long_text_is_served_with_its_window_however_many_short_ones_follow() -> None:
    lanes = PriorityQueue(limit=1000, batch=4)
    _put(lanes, Priority.WRITE, ["long " * 500, "a", "b", "c"])
    _put(lanes, Priority.WRITE, [f"short {n}" for n in range(50)])
    taken = [item.text for _ in range(2) for item in lanes.take()]
    assert taken == ["a", "b", "c", "long " * 500]


async def test_the_count_of_waiting_texts_comes_back_to_zero() -> None:
    lanes = PriorityQueue(limit=1000, batch=8)
    gone = _put(lanes, Priority.WRITE, [f"text {n % 30}" for n in range(60)])
    _put(lanes, Priority.WRITE, ["text 3", "other"])
    lanes.take()
    lanes.drop(gone)
    while lanes.queued:
        items = lanes.take()
        assert items
        lanes.finish(items, [None] * len(items))
    assert lanes.take() == []
