"""From a graph to smaller ones that have its shape, down to one vertex for each connected component.

Each step merges vertices along the strongest link of each, as Borůvka's algorithm does (1926): what is linked at all
becomes less than half as much. Laying out the small graphs first is Walshaw's multilevel method ("A multilevel
algorithm for force-directed graph drawing", 2003).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Numbers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class GraphLevel:
    """A graph of vertices that stand for notes. ``ends``: a row for each pair that is linked. ``parent``: the vertex of
    the next smaller graph that each is part of; its own number in the smallest."""

    size: Floats  # notes that each vertex stands for
    charge: Floats  # how strongly each pushes others away: its links and itself
    ends: Numbers
    weight: Floats  # links that each pair stands for
    parent: Numbers


def coarsen(count: int, pairs: Numbers) -> list[GraphLevel]:
    """The graph of ``count`` notes and those it becomes, smallest last, whose vertices are the connected components."""
    import numpy as np

    ends: Numbers = pairs
    size: Floats = np.ones(count)
    weight: Floats = np.ones(len(pairs))
    charge: Floats = 1.0 + np.bincount(ends.ravel(), minlength=count).astype(np.float64)
    levels = []
    while True:
        parent = _merge(len(size), ends, weight / np.sqrt(charge[ends].prod(axis=1)))
        levels.append(GraphLevel(size, charge, ends, weight, parent))
        if not len(ends):
            return levels
        fewer = int(parent.max()) + 1
        size, charge = _add_up(parent, size, fewer), _add_up(parent, charge, fewer)
        ends, weight = _merge_links(parent[ends], weight, fewer)


def _merge(count: int, ends: Numbers, strength: Floats) -> Numbers:
    """Which vertex of the next smaller graph each becomes part of: that of its strongest link."""
    import numpy as np

    both = np.concatenate([ends, ends[:, ::-1]])
    number = np.tile(np.arange(len(ends)), 2)
    # Of equally strong links the first counts, so that no circle of strongest links is longer than two.
    order = np.lexsort((number, -np.tile(strength, 2), both[:, 0]))
    vertices, first = np.unique(both[order, 0], return_index=True)
    leads = np.arange(count)
    leads[vertices] = both[order[first], 1]
    own = np.arange(count)
    mutual = leads[leads] == own
    leads[mutual] = np.minimum(own, leads)[mutual]
    while not np.array_equal(leads, leads[leads]):
        leads = leads[leads]
    return np.unique(leads, return_inverse=True)[1].reshape(-1)


def _merge_links(ends: Numbers, weight: Floats, count: int) -> tuple[Numbers, Floats]:
    """Links between the vertices of the smaller graph, each pair once with the weight of all."""
    import numpy as np

    between = ends[:, 0] != ends[:, 1]
    low, high = ends[between].min(axis=1), ends[between].max(axis=1)
    keys, which = np.unique(low * count + high, return_inverse=True)
    return np.stack([keys // count, keys % count], axis=1), _add_up(which.reshape(-1), weight[between], len(keys))


def _add_up(which: Numbers, values: Floats, count: int) -> Floats:
    """The sum of the values of each of ``count``."""
    import numpy as np

    return np.asarray(np.bincount(which, values, count), dtype=np.float64)
