"""A place for every note of a vault. The same graph always gets the same layout.

Links pull their notes together and all notes of a component push each other away, more where they have more links: the
model of ForceAtlas2 with logarithmic pull (Jacomy et al., "ForceAtlas2, a continuous graph layout algorithm", 2014), in
which communities stand apart. Small graphs of the same shape are laid out first and unfolded. The work is bounded:
rounds are counted, and a round is linear in notes and links.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from vaults.domain.graph.layout.coarsening import GraphLevel, coarsen
from vaults.domain.graph.layout.mesh_repulsion import repel
from vaults.domain.graph.layout.spacing import pack_discs, separate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Numbers: TypeAlias = NDArray[np.int64]

ROUNDS = 60
"""Rounds for each size of the graph."""

APART = 0.7
"""The least distance of two dots, where one has an area of 1 to itself on average."""

GAP = 1.5
"""The distance between connected components."""

COARSE, FINE = 64, 256
"""Points along an edge of the mesh: for few vertices, and at most."""

GOLDEN = math.pi * (3 - math.sqrt(5))


def place_notes(count: int, pairs: Numbers) -> Floats:
    """A place for each of ``count`` notes, by the pairs of them that are linked, each once."""
    import numpy as np

    if not count:
        return np.zeros((0, 2))
    levels = coarsen(count, pairs.reshape(-1, 2))
    # The smallest graph has one vertex for each component: ``piece`` says which one a note is in.
    piece = np.arange(len(levels[-1].size))
    spots = _pack(np.sqrt(levels[-1].size) * 1.2)
    for level in reversed(levels[:-1]):
        spots = spots[level.parent] + _fan_out(level)
        piece = piece[level.parent]
        spots = _settle(level, piece, spots)
    spots = _even_out(spots, piece)
    return _pack_pieces(separate(_pack_pieces(spots, piece), APART), piece)


def _fan_out(level: GraphLevel) -> Floats:
    """Where the parts of a vertex begin, around its place: in a spiral, as far as its notes need."""
    import numpy as np

    order = np.argsort(level.parent, kind="stable")
    starts = np.r_[0, np.flatnonzero(np.diff(level.parent[order])) + 1]
    within = np.empty(len(order))
    within[order] = np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)]))
    total = np.bincount(level.parent, level.size)[level.parent]
    many = np.bincount(level.parent)[level.parent]
    reach = np.sqrt(total * (within + 0.5) / many / math.pi) * (many > 1)
    return np.stack([reach * np.cos(GOLDEN * within), reach * np.sin(GOLDEN * within)], axis=1)


def _settle(level: GraphLevel, piece: Numbers, spots: Floats) -> Floats:
    """Let the forces act, each round less far."""
    import numpy as np

    count, (a, b) = len(spots), level.ends.T
    push = level.charge * _scale_charge(level, piece)
    side = int(min(FINE, max(COARSE, 2 ** math.ceil(math.log2(2 * math.sqrt(count))))))
    members = np.bincount(piece).astype(float)
    far = 2.0 * np.sqrt(level.size)
    for number in range(ROUNDS):
        gap = spots[b] - spots[a]
        length = np.hypot(gap[:, 0], gap[:, 1])
        stiff = level.weight * np.log1p(length) / np.maximum(length, 1e-9)
        force = repel(spots, push, side)
        firm = np.bincount(a, stiff, count) + np.bincount(b, stiff, count)
        for axis in (0, 1):
            pull = stiff * gap[:, axis]
            force[:, axis] += np.bincount(a, pull, count) - np.bincount(b, pull, count)
            # What pushes a component as a whole is not its own.
            force[:, axis] -= (np.bincount(piece, force[:, axis]) / members)[piece]
        move = 0.6 * force / np.maximum(firm, 1e-9)[:, None]
        limit = far * (1 - number / ROUNDS) + 0.02
        spots = spots + move * (limit / np.maximum(np.hypot(move[:, 0], move[:, 1]), limit))[:, None]
    return spots


def _scale_charge(level: GraphLevel, piece: Numbers) -> Floats:
    """How strong charges must be for a component to fill the area of its notes, whatever its number of links: in
    balance pull times length of all links is the push of all pairs (the virial theorem)."""
    import numpy as np

    notes, charge = np.bincount(piece, level.size), np.bincount(piece, level.charge)
    links = np.bincount(piece[level.ends[:, 0]], level.weight, len(notes))
    length = 0.5 * np.sqrt(notes)
    return np.asarray((np.sqrt(2 * links * length * np.log1p(length)) / charge)[piece])


def _even_out(spots: Floats, piece: Numbers) -> Floats:
    """Each component around 0, its longer axis across, with an area of 1 for each note."""
    import numpy as np

    many = np.bincount(piece).astype(float)
    spots = spots - np.stack([np.bincount(piece, spots[:, axis]) / many for axis in (0, 1)], axis=1)[piece]
    xx, yy, xy = (np.bincount(piece, spots[:, one] * spots[:, other]) for one, other in ((0, 0), (1, 1), (0, 1)))
    turn = -0.5 * np.arctan2(2 * xy, xx - yy)[piece]
    x = spots[:, 0] * np.cos(turn) - spots[:, 1] * np.sin(turn)
    y = spots[:, 0] * np.sin(turn) + spots[:, 1] * np.cos(turn)
    wide = np.sqrt(np.maximum(xx + yy, 1e-9) / many)
    return np.asarray(np.stack([x, y], axis=1) * (np.sqrt(many / (2 * math.pi)) / wide)[piece][:, None])


def _pack_pieces(spots: Floats, piece: Numbers) -> Floats:
    """Move components as they are until they stand apart, the largest in the middle."""
    import numpy as np

    many = np.bincount(piece).astype(float)
    spots = spots - np.stack([np.bincount(piece, spots[:, axis]) / many for axis in (0, 1)], axis=1)[piece]
    radii = np.zeros(len(many))
    np.maximum.at(radii, piece, np.hypot(spots[:, 0], spots[:, 1]))
    return np.asarray(spots + _pack(radii)[piece])


def _pack(radii: Floats) -> Floats:
    import numpy as np

    order = np.argsort(-radii, kind="stable")
    centres = np.zeros((len(radii), 2))
    centres[order] = pack_discs(radii[order].tolist(), GAP)
    return centres
