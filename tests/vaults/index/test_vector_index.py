"""The vector index against a plain numpy model, flat and compressed, before, during and after rebuilds.

Covers vaults.index.compressed_vectors, vaults.index.flat_vectors, vaults.index.vector_layers.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.work import examples
from vaults.errors import IndexUnavailable
from vaults.index import vector_index, vector_layers
from vaults.index.compressed_vectors import CompressedVectors
from vaults.index.vector_index import VectorChange, VectorIndex
from vaults.settings import IndexSettings

SMALL = IndexSettings(flat_limit=1000)


def clustered(count: int, width: int, seed: int = 0) -> np.ndarray:
    """Unit vectors in clusters that overlap, as sentences do."""
    random, shared = np.random.default_rng(seed), np.random.default_rng(99)
    centres = shared.standard_normal((200, 16)) @ shared.standard_normal((16, width))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    picked = centres[random.integers(0, 200, count)] + 0.35 * centres[random.integers(0, 200, count)]
    picked += 0.6 * random.standard_normal((count, width)) / np.sqrt(width)
    return (picked / np.linalg.norm(picked, axis=1, keepdims=True)).astype(np.float32)


def puts(ids: range | list[int], matrix: np.ndarray) -> list[VectorChange]:
    return [VectorChange(passage, row.tobytes()) for passage, row in zip(ids, matrix, strict=True)]


def removals(ids: range | list[int]) -> list[VectorChange]:
    return [VectorChange(passage, None) for passage in ids]


def exact(held: dict[int, np.ndarray], query: np.ndarray, k: int, allow: list[int] | None = None) -> list[int]:
    ids = sorted(held if allow is None else held.keys() & set(allow))
    if not ids:
        return []
    scores = (np.stack([held[passage] for passage in ids]) @ query).astype(np.float64).round(4)
    return [ids[at] for at in np.argsort(-scores, kind="stable")[:k]]


def recall(found: list[tuple[int, float]], wanted: list[int]) -> float:
    return len({passage for passage, _ in found} & set(wanted)) / max(len(wanted), 1)


def compressed_index(count: int = 4000, width: int = 96) -> tuple[VectorIndex, np.ndarray]:
    index, matrix = VectorIndex(width, SMALL), clustered(count, width)
    index.apply(puts(range(count), matrix), 1)
    assert index.needs_rebuild
    assert index.rebuild()
    assert isinstance(index._sealed[0].rows, CompressedVectors)
    return index, matrix


def agree(found: list[tuple[int, float]], held: dict[int, np.ndarray], query: np.ndarray, allow: list | None) -> None:
    """The best seven, in order. Of several passages with the seventh's score, any may be the last."""
    ranked = exact(held, query, 99, allow)
    scores = {passage: float(held[passage] @ query) for passage in ranked}
    assert len(found) == min(7, len(ranked))
    assert {passage for passage, _ in found} <= set(ranked)
    last = scores[found[-1][0]] if found else 0.0
    sure = [passage for passage in ranked if scores[passage] > last + 1e-5]
    assert [passage for passage, _ in found][: len(sure)] == sure
    assert [score for _, score in found] == pytest.approx([scores[passage] for passage, _ in found], abs=1e-4)


PASSAGES = st.integers(min_value=0, max_value=30)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("apply"), st.lists(st.tuples(PASSAGES, st.one_of(st.none(), st.integers(0, 9))), max_size=8)),
        st.tuples(st.just("search"), st.one_of(st.none(), st.lists(PASSAGES, max_size=12))),
        st.tuples(st.just("seal"), st.none()),
        st.tuples(st.just("merge"), st.none()),
    ),
    max_size=25,
)


@given(STEPS)
@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_sequence_of_changes_answers_like_a_dictionary_of_vectors(steps: list) -> None:
    palette, query = clustered(10, 8, seed=3), clustered(1, 8, seed=4)[0]
    index, held, seen = VectorIndex(8, SMALL), {}, 0
    frozen: list = []
    for action, what in steps:
        if action == "apply":
            seen += 1
            changes = [VectorChange(p, None if c is None else palette[c].tobytes()) for p, c in what]
            assert index.apply(changes, seen) == ()
            index.apply(changes, seen)
            for passage, colour in what:
                held.pop(passage, None)
                if colour is not None:
                    held[passage] = palette[colour]
        elif action == "seal":
            frozen = index._seal()
        elif action == "merge" and frozen:
            merged = vector_layers.merge_layers(frozen, 8, 1000, 30, lambda: False)
            index._swap(frozen, merged)
            frozen = []
        else:
            allow = None if what is None else np.array(what, np.int64)
            agree(index.search(query, 7, allow), held, query, what)
    assert len(index) == len(held)
    assert index.seen == seen
    assert [passage for passage, _ in index.search(query, 99)] == exact(held, query, 99)


def test_empty_index_zero_k_empty_filter_and_foreign_ids_find_nothing() -> None:
    index, query = VectorIndex(8, SMALL), clustered(1, 8)[0]
    assert index.search(query, 5) == []
    assert index.search(query, 5, np.array([1])) == []
    index.apply(puts([1], clustered(1, 8)), 1)
    assert index.search(query, 0) == []
    assert index.search(query, 5, np.array([], np.int64)) == []
    assert index.search(query, 5, np.array([2, -1])) == []
    assert index.search(query, 5) == [(1, 1.0)]


def test_a_batch_older_than_the_index_is_left_out() -> None:
    index, matrix = VectorIndex(8, SMALL), clustered(2, 8)
    index.apply(puts([1], matrix[:1]), 4)
    index.apply(removals([1]), 9)
    index.apply(puts([1], matrix[:1]), 4)
    assert len(index) == 0
    assert index.seen == 9


def test_the_last_change_of_a_passage_in_a_batch_counts() -> None:
    index, matrix = VectorIndex(8, SMALL), clustered(2, 8)
    index.apply([*puts([1], matrix[:1]), *removals([1]), *puts([1], matrix[1:])], 1)
    assert index.search(matrix[1], 5) == [(1, 1.0)]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x00" * 31,
        np.zeros(8, "<f4").tobytes(),
        np.full(8, np.nan, "<f4").tobytes(),
        np.full(8, np.inf, "<f4").tobytes(),
        np.zeros(9, "<f4").tobytes(),
    ],
    ids=["empty", "short", "zero", "nan", "inf", "wide"],
)
def test_a_damaged_vector_is_named_and_never_in_the_index(raw: bytes) -> None:
    index, matrix = VectorIndex(8, SMALL), clustered(2, 8)
    index.apply(puts([1, 2], matrix), 1)
    assert index.apply([VectorChange(1, raw), *puts([3], matrix[:1])], 2) == (1,)
    assert {passage for passage, _ in index.search(matrix[0], 5)} == {2, 3}
    assert index.seen == 2


@pytest.mark.parametrize("query", [np.zeros(7), np.full(8, np.nan)])
def test_a_query_that_does_not_fit_is_refused(query: np.ndarray) -> None:
    with pytest.raises(IndexUnavailable):
        VectorIndex(8, SMALL).search(query, 5)


def test_equal_texts_tie_by_id_in_both_forms() -> None:
    same = clustered(1, 96)[0]
    matrix = np.vstack([clustered(1500, 96, seed=2), np.tile(same, (5, 1))])
    ids = [*range(10, 1510), 7, 3, 9, 1, 5]
    index = VectorIndex(96, SMALL)
    index.apply(puts(ids, matrix), 1)
    assert [passage for passage, _ in index.search(same, 5)] == [1, 3, 5, 7, 9]
    assert index.rebuild()
    assert [passage for passage, _ in index.search(same, 5)] == [1, 3, 5, 7, 9]


def test_memory_is_given_back_after_a_purge() -> None:
    index, matrix = VectorIndex(32, IndexSettings(flat_limit=50_000)), clustered(6000, 32)
    index.apply(puts(range(6000), matrix), 1)
    full = index.memory_bytes
    assert full >= 6000 * 32 * 4
    index.apply(removals(range(5000)), 2)
    assert index.memory_bytes < full / 3
    assert index.search(matrix[5500], 1) == [(5500, 1.0)]


def test_a_width_that_cannot_be_compressed_stays_exact() -> None:
    index, matrix = VectorIndex(10, SMALL), clustered(1500, 10)
    index.apply(puts(range(1500), matrix), 1)
    assert not index.needs_rebuild
    assert not index.rebuild()
    assert index.search(matrix[3], 1)[0][0] == 3


def test_compressed_search_finds_what_exact_search_finds() -> None:
    index, matrix = compressed_index()
    held = dict(enumerate(matrix))
    for k in (1, 10):
        scores = [recall(index.search(query, k), exact(held, query, k)) for query in clustered(60, 96, seed=5)]
        assert np.mean(scores) >= 0.98
    assert index.memory_bytes < 4000 * 96 * 4


@pytest.mark.parametrize("share", [0.0005, 0.005, 0.05, 0.5, 0.99])
@pytest.mark.parametrize("form", ["flat", "compressed"])
def test_filters_keep_the_exact_answer(share: float, form: str) -> None:
    index, matrix = (
        VectorIndex(96, IndexSettings(flat_limit=1000 if form == "compressed" else 50_000)),
        clustered(8000, 96),
    )
    index.apply(puts(range(8000), matrix), 1)
    assert index.rebuild() == (form == "compressed")
    random, held = np.random.default_rng(1), dict(enumerate(matrix))
    allow = random.choice(8000, int(8000 * share), replace=False)
    scores = []
    for query in clustered(15, 96, seed=6):
        found = index.search(query, 10, np.concatenate([allow, allow[:3], [10**12]]))
        assert {passage for passage, _ in found} <= set(allow.tolist())
        assert len(found) == min(10, len(allow))
        scores.append(recall(found, exact(held, query, 10, allow.tolist())))
    assert np.mean(scores) >= 0.98


def test_a_filter_that_keeps_out_everything_near_still_finds_the_rest() -> None:
    index, matrix = compressed_index()
    query = matrix[0]
    near = exact(dict(enumerate(matrix)), query, 2000)
    allow = sorted(set(range(4000)) - set(near))
    found = index.search(query, 10, np.array(allow))
    assert recall(found, exact(dict(enumerate(matrix)), query, 10, allow)) >= 0.9
    index.apply(removals(near[:500]), 2)
    assert recall(index.search(query, 10), near[500:510]) >= 0.9


def test_changes_after_a_rebuild_are_seen_and_lead_to_the_next() -> None:
    index, matrix = compressed_index()
    moved = clustered(900, 96, seed=7)
    index.apply(removals(range(100)), 2)
    index.apply(puts(range(100, 200), moved[:100]), 3)
    index.apply(puts(range(5000, 5100), moved[100:200]), 4)
    held = dict(enumerate(matrix)) | dict(zip(range(100, 200), moved, strict=False))
    held |= {5000 + at: moved[100 + at] for at in range(100)}
    for passage in range(100):
        del held[passage]
    assert len(index) == len(held) == 4000
    assert index.search(moved[0], 1)[0][0] == 100
    assert index.search(moved[150], 1)[0][0] == 5050
    assert not index.needs_rebuild
    index.apply(puts(range(6000, 6700), moved[200:]), 5)
    held |= {6000 + at: moved[200 + at] for at in range(700)}
    assert index.needs_rebuild
    assert index.rebuild()
    assert not index.needs_rebuild
    assert len(index) == len(held)
    found = [recall(index.search(query, 10), exact(held, query, 10)) for query in clustered(20, 96, seed=8)]
    assert np.mean(found) >= 0.98


def test_a_shrunken_vault_becomes_exact_again() -> None:
    index, matrix = compressed_index()
    index.apply(removals(range(3500)), 2)
    assert index.rebuild()
    assert index._sealed == ()
    assert len(index) == 500
    assert [p for p, _ in index.search(matrix[3600], 5)] == exact(dict(enumerate(matrix[3500:], 3500)), matrix[3600], 5)
    index.apply(removals(range(3500, 4000)), 3)
    assert len(index) == 0
    assert index.search(matrix[0], 3) == []


def test_changes_and_searches_during_a_rebuild_are_neither_lost_nor_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, moved = clustered(3000, 96), clustered(300, 96, seed=9)
    index = VectorIndex(96, SMALL)
    index.apply(puts(range(3000), matrix), 1)
    real = vector_index.merge_layers

    def interrupted(*arguments):
        merged = real(*arguments)
        assert not index.needs_rebuild
        index.apply(
            [*removals(range(50)), *puts(range(50, 100), moved[:50]), *puts(range(9000, 9010), moved[50:60])], 2
        )
        index.apply(removals([9009]), 3)
        assert index.search(matrix[0], 1)[0][0] != 0
        assert index.search(moved[0], 1)[0][0] == 50
        return merged

    monkeypatch.setattr(vector_index, "merge_layers", interrupted)
    assert index.rebuild()
    assert len(index) == 3000 - 50 + 9
    assert index.search(matrix[0], 1)[0][0] != 0
    assert index.search(moved[0], 1)[0][0] == 50
    assert index.search(moved[55], 1)[0][0] == 9005
    assert index.search(matrix[200], 1)[0][0] == 200


def test_a_failed_or_stopped_rebuild_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    index, matrix = VectorIndex(96, SMALL), clustered(2000, 96)
    index.apply(puts(range(2000), matrix), 1)
    before = index.search(matrix[7], 10)
    stop = threading.Event()
    stop.set()
    assert not index.rebuild(stop)

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(vector_index, "merge_layers", fail)
    with pytest.raises(MemoryError):
        index.rebuild()
    monkeypatch.undo()
    assert index.search(matrix[7], 10) == before
    assert index.needs_rebuild
    assert index.rebuild()
    assert index.search(matrix[7], 1)[0][0] == 7
