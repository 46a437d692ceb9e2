"""What moves a candidate, how passages become items, and what stands around a passage in its vector.

Covers vaults.search.candidates, vaults.search.item_groups, vaults.search.smoothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from vaults.index.passages import ADVERSARIAL, QUESTION
from vaults.index.vector_index import VectorChange, VectorIndex
from vaults.search import item_groups, lifts
from vaults.search.candidates import SearchCandidates
from vaults.search.passage_facts import PassageFacts
from vaults.search.smoothing import smooth_scores
from vaults.settings import IndexSettings

NOW = "2026-01-15T00:00:00.000Z"


def about(number: int, **more: Any) -> PassageFacts:
    """A passage of a memory of the same number, unless said otherwise."""
    values: dict[str, Any] = {
        "item": ("memory", number), "traits": 0, "author": None, "entity": None, "thread": None, "parent": None,
        "at": NOW, "near": None, "titled": False, "text_hash": str(number),
    }  # fmt: skip
    return PassageFacts(**values | more)


def known(*several: PassageFacts) -> Mapping[int, PassageFacts]:
    return dict(enumerate(several, 1))


def test_who_said_it_or_whom_it_is_about_lifts() -> None:
    held = known(about(1, author="ann"), about(2, entity="ann"), about(3, author="bob"), about(4))
    assert lifts.lift_named(held, {"ann"}, 0.3) == {1: 0.3, 2: 0.3}
    assert lifts.lift_named(held, set(), 0.3) == {}


def test_what_asks_and_what_orders_sinks() -> None:
    held = known(about(1, traits=QUESTION), about(2, traits=ADVERSARIAL), about(3, traits=QUESTION | ADVERSARIAL))
    assert lifts.lower_questions(held, 0.1) == {1: -0.1, 3: -0.1}
    assert lifts.lower_adversarial(held, 1.0) == {2: -1.0, 3: -1.0}


@pytest.mark.parametrize(
    ("name", "words", "lifted"),
    [
        ("Q3-billing", ("q3", "billing", "late"), True),
        ("Q3-billing", ("billing",), False),
        ("the move to Rome", ("move", "rome"), True),
        ("the move to Rome", ("move",), False),
        ("all of it", ("it",), False),
        ("?!", (), False),
    ],
)
def test_a_thread_lifts_when_its_telling_words_are_asked_for(name: str, words: tuple[str, ...], lifted: bool) -> None:
    assert lifts.lift_thread(known(about(1, thread=name), about(2)), words, 0.1) == ({1: 0.1} if lifted else {})


def test_recency_falls_by_e_and_the_future_is_as_now() -> None:
    days = ("2026-01-15T00:00:00.000Z", "2026-01-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z")
    lifted = lifts.lift_recent(known(*(about(n, at=at) for n, at in enumerate(days))), NOW, 0.15, 14.0)
    assert lifted == pytest.approx({1: 0.15, 2: 0.15 / np.e, 3: 0.15})


def test_an_item_has_its_best_score_and_a_share_of_the_next_two() -> None:
    one, two = ("memory", 1), ("memory", 2)
    held = known(*(about(n, item=item) for n, item in enumerate((one, two, one, one, one), 1)))
    order = [(1, 0.5), (2, 0.5), (3, 0.4), (4, 0.3), (5, 0.2)]
    assert item_groups.group_passages(order, held, "item", 0.1) == [(1, pytest.approx(0.57)), (2, 0.5)]
    assert item_groups.group_passages([(2, 0.5), (3, 0.4), (4, -3.0)], held, "item", 0.1) == [(2, 0.5), (3, 0.4)]


def test_a_parent_is_as_good_as_its_items() -> None:
    held = known(about(1), about(2, parent="talk"), about(3, parent="talk"), about(4, parent="walk"))
    order = [(1, 0.6), (2, 0.58), (3, 0.5), (4, 0.1)]
    assert item_groups.group_passages(order, held, "parent", 0.1) == [(2, pytest.approx(0.63)), (1, 0.6), (4, 0.1)]


def test_only_what_stands_alone_repeats() -> None:
    row = (0, 0, 2, 0)
    held = known(
        about(1, text_hash="a"), about(2, text_hash="b"), about(3, text_hash="a"),
        about(4, text_hash="b", near=row), about(5, text_hash="b", near=row),
    )  # fmt: skip
    kept, dropped = item_groups.drop_repeated_items([(n, 1 - n / 10) for n in range(1, 6)], held)
    assert [passage for passage, _ in kept] == [1, 2, 4, 5]
    assert [(each.item, each.of, each.why) for each in dropped] == [(3, 1, "repeats")]


def _unit(rng: np.random.Generator, width: int) -> np.ndarray:
    vector = rng.normal(size=width).astype(np.float32)
    return np.asarray(vector / np.linalg.norm(vector))


def test_smoothing_is_the_mean_of_the_own_cosine_and_that_of_the_mixture() -> None:
    rng = np.random.default_rng(5)
    vectors = {n: _unit(rng, 8) for n in range(1, 7)}
    index = VectorIndex(8, IndexSettings())
    index.apply([VectorChange(n, v.astype("<f4").tobytes()) for n, v in vectors.items()], 1)
    near = {2: (0, 1, 3, 4), 5: (3, 4, 99, 0), 6: None}
    query = _unit(rng, 8)
    found = SearchCandidates(
        {n: float(vectors[n] @ query) for n in near}, {n: about(n, near=row) for n, row in near.items()}, True
    )
    v = vectors
    mixed = {2: v[2] + 0.5 * (v[1] + v[3]) + 0.25 * v[4], 5: v[5] + 0.5 * v[4] + 0.25 * v[3]}  # 99 has no vector
    expected = {n: float(v[n] @ query + (m / np.linalg.norm(m)) @ query) / 2 for n, m in mixed.items()}
    expected[6] = found.scores[6]
    got = smooth_scores(index, query, found, 0.5)
    assert got.scores == pytest.approx(expected, abs=1e-5)
    assert list(got.scores) == sorted(expected, key=lambda n: -expected[n])
    assert smooth_scores(index, query, found, 0.0) is found
