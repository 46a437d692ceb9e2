"""Laying out the dots of a scene. The same scene always gets the same layout.

Links are springs, stronger the more their notes have in common, and all dots repel each other: the method of
Fruchterman and Reingold ("Graph drawing by force-directed placement", 1991), as implemented by rustworkx. Then the dots
are spread evenly over the picture, and pushed apart until those with a label have room for it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from vaults.domain.graph.svg.scenes import Scene, SceneLine

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Plane: TypeAlias = NDArray[np.float64]

ROUNDS = 160
"""Max rounds of pushing dots apart."""

STEPS = 200
"""Iterations of the spring layout."""

SEED = 1

NEAREST, FARTHEST, APART = 0.35, 2.0, 3.0
"""Target distances: between linked notes that share all neighbours, or none, and between unconnected components."""

EVEN = 0.5
"""Weight of rank, against value, when positions are evened out."""

TINY = 1e-6


@dataclass(frozen=True, slots=True)
class PictureFrame:
    """The area of a picture where dots may lie."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def centre(self) -> tuple[float, float]:
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2


@dataclass(frozen=True, slots=True)
class DotExtent:
    """Half the width and half the height of a dot including its label."""

    across: float
    down: float


DotPlaces = dict[int, tuple[float, float]]
"""The position of each dot, by number."""


def place_dots(scene: Scene, frame: PictureFrame, extents: Mapping[int, DotExtent]) -> DotPlaces:
    """Find a place in the frame for every dot."""
    import numpy as np

    if not scene.dots:
        return {}
    order = [dot.number for dot in scene.dots]
    size = np.array([(extents[number].across, extents[number].down) for number in order])
    ideal, fixed = _turn_flat(_lay_out_springs(scene)), None
    if scene.middle is None:
        spots = np.stack(
            [_even_out(ideal[:, 0], frame.left, frame.right), _even_out(ideal[:, 1], frame.top, frame.bottom)], 1
        )
    else:
        fixed = order.index(scene.middle)
        spots = _arrange_in_rings(ideal - ideal[fixed], np.array([dot.hops for dot in scene.dots]), frame)
    spots = _push_apart(spots, size, frame, fixed)
    return {number: (round(float(x), 1), round(float(y), 1)) for number, (x, y) in zip(order, spots, strict=True)}


def _lay_out_springs(scene: Scene) -> Plane:
    """Positions in which related notes are close to each other."""
    import numpy as np
    import rustworkx as rx

    index = {dot.number: place for place, dot in enumerate(scene.dots)}
    graph = rx.PyGraph(multigraph=False)
    graph.add_nodes_from(range(len(index)))
    graph.add_edges_from(
        [(index[line.source], index[line.target], distance) for line, distance in choose_distances(scene)]
    )
    parts = sorted((sorted(part) for part in rx.connected_components(graph)), key=lambda part: (-len(part), part))
    # Unconnected components would be laid out in a row: a long spring keeps each next to the largest.
    graph.add_edges_from([(parts[0][0], part[0], APART) for part in parts[1:]])
    found = rx.spring_layout(graph, weight_fn=lambda distance: 1 / distance, num_iter=STEPS, seed=SEED)
    return np.array([tuple(found[place]) for place in range(len(index))])


def choose_distances(scene: Scene) -> list[tuple[SceneLine, float]]:
    """The target length of each line: short for two notes with the same neighbours, long for hubs that share few."""
    near: dict[int, set[int]] = defaultdict(set)
    for line in scene.lines:
        near[line.source].add(line.target)
        near[line.target].add(line.source)
    return [(line, _choose_distance(near[line.source], near[line.target])) for line in scene.lines]


def _choose_distance(one: set[int], other: set[int]) -> float:
    few, many = sorted((len(one), len(other)))
    alike = (len(one & other) + 1) / (math.pow(few, 0.8) * math.pow(many, 0.2))
    return NEAREST + (FARTHEST - NEAREST) * (1 - alike) * (1 - alike)


def _turn_flat(spots: Plane) -> Plane:
    """Rotate the layout so that its longest axis is horizontal."""
    import numpy as np

    spots = spots - spots.mean(axis=0)
    if len(spots) < 3:
        return spots
    _, _, axes = np.linalg.svd(spots, full_matrices=False)
    return np.asarray(spots @ (axes * np.where(axes[:, :1] < 0, -1.0, 1.0)).T)


def _even_out(values: Plane, low: float, high: float) -> Plane:
    """Spread values from ``low`` to ``high``, half by value and half by rank, to avoid a crowded middle in a void."""
    import numpy as np

    spread = float(values.max() - values.min())
    if spread < TINY:
        return np.full(len(values), (low + high) / 2)
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable") / (len(values) - 1)
    shares = (1 - EVEN) * (values - values.min()) / spread + EVEN * ranks
    return np.asarray(low + (high - low) * shares)


def _arrange_in_rings(spots: Plane, hops: NDArray[np.int64], frame: PictureFrame) -> Plane:
    """Arrange dots around the middle one at 0, 0: those one link away in an inner ring, those two away in an outer."""
    import numpy as np

    far, angle = np.hypot(spots[:, 0], spots[:, 1]), np.arctan2(spots[:, 1], spots[:, 0])
    around, reach = hops > 0, np.zeros(len(spots))
    if around.any():
        angle[around] = _even_out(angle[around], -np.pi, np.pi * (1 - 2 / max(2, around.sum())))
    for hop in (1, 2):
        here = hops == hop
        if here.any():
            inner, outer = _RINGS[hops.max() == 2, hop]
            reach[here] = _even_out(far[here], inner, outer)
    middle = np.array(frame.centre)
    half = np.array([frame.right - frame.left, frame.bottom - frame.top]) / 2
    return np.asarray(middle + half * np.stack([reach * np.cos(angle), reach * np.sin(angle)], axis=1))


_RINGS = {(False, 1): (0.42, 1.0), (True, 1): (0.3, 0.62), (True, 2): (0.78, 1.05)}
"""Inner and outer radius of a ring, as a share of the frame, by whether there are two rings and which one it is."""


def _push_apart(spots: Plane, size: Plane, frame: PictureFrame, fixed: int | None) -> Plane:
    """Push dots apart, along the shorter axis, until nothing overlaps or the rounds are over."""
    import numpy as np

    across = size[:, None, 0] + size[None, :, 0]
    down = size[:, None, 1] + size[None, :, 1]
    np.fill_diagonal(across, 0.0)
    low = np.array([frame.left, frame.top]) + size
    high = np.array([frame.right, frame.bottom]) - size
    # Dots at exactly the same place are separated by their order.
    spots = np.clip(spots, low, high) + np.arange(len(spots))[:, None] * np.array([1e-3, 7e-4])
    for _ in range(ROUNDS):
        x = spots[:, None, 0] - spots[None, :, 0]
        y = spots[:, None, 1] - spots[None, :, 1]
        over_x, over_y = across - np.abs(x), down - np.abs(y)
        touching = (over_x > 0) & (over_y > 0)
        if not touching.any():
            break
        sideways = touching & (over_x < over_y)
        upward = touching & ~sideways
        push = np.stack(
            [(np.sign(x) * over_x * sideways).sum(axis=1), (np.sign(y) * over_y * upward).sum(axis=1)], axis=1
        )
        moved = spots + 0.35 * np.clip(push, -60, 60)
        if fixed is not None:
            moved[fixed] = spots[fixed]
        spots = np.clip(moved, low, high)
    return spots
