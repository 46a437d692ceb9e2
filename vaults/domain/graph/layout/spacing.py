"""Keeping what is placed apart: dots from each other, and connected components as a whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

ROUNDS = 24
"""Rounds of pushing dots apart."""

NEXT = 12
"""Dots after each, in the order of their strip, that it is held against."""


def separate(spots: Floats, distance: float) -> Floats:
    """Push dots apart that are nearer than ``distance``. Each is held against few others, those that come next in its
    strip of the plane, and strips lie another way each round: near dots meet in one of them."""
    import numpy as np

    # Dots at exactly the same place are separated by their order, along a spiral.
    turn = np.arange(len(spots)) * 2.399963
    spots = spots + 0.01 * distance * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    for number in range(ROUNDS):
        along, strip = (0, 1) if number % 2 else (1, 0)
        strips = np.floor(spots[:, strip] / distance + 0.5 * (number // 2 % 2))
        order = np.lexsort((spots[:, along], strips))
        placed, pushed = spots[order], np.zeros_like(spots)
        for step in range(1, min(NEXT, len(spots) - 1) + 1):
            gap = placed[step:] - placed[:-step]
            far = np.hypot(gap[:, 0], gap[:, 1])
            push = gap * (np.maximum(0.0, distance - far) / np.maximum(far, 1e-9) / 2)[:, None]
            pushed[step:] += push
            pushed[:-step] -= push
        lengths = np.hypot(pushed[:, 0], pushed[:, 1])
        spots[order] += pushed * (0.5 * distance / np.maximum(lengths, 0.5 * distance))[:, None]
    return spots


def pack_discs(radii: Sequence[float], gap: float) -> list[tuple[float, float]]:
    """A centre for each disc, largest first, so that none is nearer to another than ``gap``: the first in the middle,
    the others in rings around it, each of them spread evenly."""
    centres = [(0.0, 0.0)] * len(radii)
    reach, first = (radii[0] if radii else 0.0), 1
    while first < len(radii):
        ring = reach + gap + radii[first]
        turns = _fill_ring(radii, first, gap, ring)
        stretch = max(1.0, 2 * math.pi / turns[-1])
        for place, turn in enumerate(turns[:-1], first):
            centres[place] = (ring * math.cos(turn * stretch), ring * math.sin(turn * stretch))
        reach, first = ring + radii[first], first + len(turns) - 1
    return centres


def _fill_ring(radii: Sequence[float], first: int, gap: float, ring: float) -> list[float]:
    """The angles of the discs from ``first`` on that a ring has room for, and last the one at which it closes."""
    turns = [0.0]
    for place in range(first, len(radii)):
        closes = turns[-1] + _turn_between(radii[place], radii[first], gap, ring)
        if place + 1 == len(radii):
            return [*turns, closes]
        follows = turns[-1] + _turn_between(radii[place], radii[place + 1], gap, ring)
        if follows + _turn_between(radii[place + 1], radii[first], gap, ring) > 2 * math.pi:
            return [*turns, closes]
        turns.append(follows)
    return turns


def _turn_between(one: float, other: float, gap: float, ring: float) -> float:
    """The angle between two neighbours on a ring."""
    return 2 * math.asin(min(1.0, (one + other + gap) / (2 * ring)))
