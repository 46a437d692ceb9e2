"""Where notes lie in a picture of all of them.

Covers vaults.domain.graph.layout.coarsening, vaults.domain.graph.layout.mesh_repulsion and
vaults.domain.graph.layout.spacing, too.
"""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.work import python_steps
from vaults.domain.graph.layout.coarsening import coarsen
from vaults.domain.graph.layout.force_layout import place_notes
from vaults.domain.graph.layout.mesh_repulsion import repel
from vaults.domain.graph.layout.spacing import pack_discs, separate

Pairs = NDArray[np.int64]


def as_pairs(links: object) -> Pairs:
    return np.array(links, dtype=np.int64).reshape(-1, 2)


def communities(many: int, size: int, seed: int = 1) -> Pairs:
    """Groups whose members link each other, and one link from each group to the next."""
    chance = np.random.default_rng(seed)
    found = set()
    for first in range(0, many * size, size):
        found |= {(first, first + member) for member in range(1, size)}
        for one, other in chance.integers(0, size, (2 * size, 2)):
            if one != other:
                found.add((first + min(one, other), first + max(one, other)))
        if first:
            found.add((first - size, first))
    return as_pairs(sorted(found))


def distances(places: NDArray[np.float64], pairs: Pairs) -> NDArray[np.float64]:
    return np.asarray(np.hypot(*(places[pairs[:, 0]] - places[pairs[:, 1]]).T))


SHAPES = {
    "nothing": (0, []),
    "one": (1, []),
    "two that are linked": (2, [(0, 1)]),
    "none linked": (40, []),
    "a star": (500, [(0, each) for each in range(1, 500)]),
    "a line": (300, [(each, each + 1) for each in range(299)]),
    "all linked": (30, list(combinations(range(30), 2))),
    "pairs": (60, [(each, each + 1) for each in range(0, 60, 2)]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_note_has_a_place_of_its_own_and_the_same_each_time(shape: str) -> None:
    count, links = SHAPES[shape]
    places = place_notes(count, as_pairs(links))
    assert places.shape == (count, 2)
    assert np.isfinite(places).all()
    assert len(np.unique(places.round(2), axis=0)) == count
    assert np.array_equal(places, place_notes(count, as_pairs(links)))


def test_linked_notes_are_near_and_communities_stand_apart() -> None:
    pairs = communities(6, 60)
    places = place_notes(360, pairs)
    anybody = as_pairs(list(combinations(range(360), 2)))
    inside = anybody[:, 0] // 60 == anybody[:, 1] // 60
    far = distances(places, anybody)
    assert distances(places, pairs).mean() < far.mean() / 2
    assert far[inside].mean() < far[~inside].mean() / 2
    nearest = np.full(360, np.inf)
    np.minimum.at(nearest, anybody[:, 0], far)
    np.minimum.at(nearest, anybody[:, 1], far)
    assert np.quantile(nearest, 0.05) > 0.4  # dots do not lie on each other


def test_a_grid_unfolds() -> None:
    across = [(row * 20 + place, row * 20 + place + 1) for row in range(20) for place in range(19)]
    down = [(place, place + 20) for place in range(380)]
    places = place_notes(400, as_pairs(across + down))
    lengths = distances(places, as_pairs(across + down))
    far = distances(places, as_pairs(list(combinations(range(400), 2)))).mean()
    assert lengths.mean() < far / 4
    assert lengths.max() < far


def test_pieces_that_are_not_linked_do_not_overlap() -> None:
    sizes = [120, 40, 40, 7, 2, 1, 1, 1]
    starts = np.r_[0, np.cumsum(sizes)]
    links = [(first, first + each) for first, size in zip(starts, sizes, strict=False) for each in range(1, size)]
    places = place_notes(int(starts[-1]), as_pairs(links))
    discs = []
    for first, last in pairwise(starts):
        own = places[first:last]
        discs.append((own.mean(axis=0), np.hypot(*(own - own.mean(axis=0)).T).max()))
    for (one, reach), (other, much) in combinations(discs, 2):
        assert math.dist(one, other) > reach + much + 1


def test_the_work_of_a_layout_hardly_grows_in_steps_with_the_notes() -> None:
    few, many = communities(4, 50), communities(32, 50)
    place_notes(200, few)
    steps = [python_steps(lambda n=n, pairs=pairs: place_notes(n, pairs)) for n, pairs in ((200, few), (1600, many))]
    assert steps[1] < 3 * steps[0]


def test_graphs_become_smaller_down_to_one_vertex_for_each_piece() -> None:
    levels = coarsen(
        403, as_pairs([*((0, each) for each in range(1, 300)), *((each, each + 1) for each in range(300, 400))])
    )
    assert len(levels[-1].size) == 4
    assert sorted(levels[-1].size) == [1, 1, 101, 300]
    for one, other in pairwise(levels):
        assert len(other.size) < len(one.size)
        assert other.charge.sum() == one.charge.sum()
        assert (other.ends[:, 0] < other.ends[:, 1]).all()


def test_charges_push_each_other_as_they_would_one_by_one() -> None:
    chance = np.random.default_rng(5)
    spots, charge = chance.uniform(-50, 50, (200, 2)), chance.uniform(1, 3, 200)
    gap = spots[:, None] - spots[None, :]
    square = (gap**2).sum(axis=2) + np.eye(200)
    exact = (gap * (charge[None, :] / square)[:, :, None]).sum(axis=1) * charge[:, None]
    found = repel(spots, charge, 128)
    assert np.abs(found.sum(axis=0)).max() < 0.01 * np.abs(exact).sum()
    assert np.corrcoef(found.ravel(), exact.ravel())[0, 1] > 0.98


def test_dots_at_one_place_are_spread() -> None:
    spread = separate(np.zeros((200, 2)), 1.0)
    far = distances(spread, as_pairs(list(combinations(range(200), 2))))
    assert np.sort(far)[20] > 0.2
    assert np.hypot(*spread.T).max() < 30


@pytest.mark.parametrize("radii", [[], [3.0], [1.0] * 50, [40.0, 9.0, 9.0, *[0.5] * 400], [2.0, 1.9, 0.0, 0.0]])
def test_discs_are_packed_without_touching(radii: list[float]) -> None:
    centres = pack_discs(radii, 1.5)
    assert len(centres) == len(radii)
    for (one, reach), (other, much) in combinations(zip(centres, radii, strict=True), 2):
        assert math.dist(one, other) >= reach + much + 1.5 - 1e-6
