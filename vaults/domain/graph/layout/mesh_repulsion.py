"""How strongly many charges push each other away, on a mesh: as long for each pair as for none.

Charges are spread over the nearest points of a mesh, the field there is one convolution, done by Fourier transforms,
and each charge takes the force of the points around it (Hockney and Eastwood, "Computer simulation using particles",
1981; for layouts Linderman et al., "Fast interpolation-based t-SNE", 2019). What is nearer than two points is pushed
too little: ``spacing`` separates that.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Field: TypeAlias = NDArray[np.complex64]


def repel(spots: Floats, charge: Floats, side: int) -> Floats:
    """The force on each charge, those of others over the distance. ``side``: points along an edge of the mesh."""
    import numpy as np

    low = spots.min(axis=0)
    cell = max(float((spots.max(axis=0) - low).max()), 1e-9) / (side - 2)
    at = (spots - low) / cell
    corner = np.minimum(at.astype(np.int64), side - 2)
    share = at - corner
    x, y = share[:, 0], share[:, 1]
    first = corner[:, 0] * side + corner[:, 1]
    points = np.stack([first, first + 1, first + side, first + side + 1])
    shares = np.stack([(1 - x) * (1 - y), (1 - x) * y, x * (1 - y), x * y])
    mesh = np.bincount(points.ravel(), (shares * charge).ravel(), side * side).reshape(side, side)
    wide = np.fft.fft2(mesh.astype(np.float32), (2 * side, 2 * side)) * _field_of_one(side)
    field = np.fft.ifft2(wide)[:side, :side].ravel()[points]
    force = (field * shares).sum(axis=0) * (charge / cell)
    return np.stack([force.real, force.imag], axis=1)


@cache
def _field_of_one(side: int) -> Field:
    """The transform of the field around a single charge: across in the real part, down in the imaginary one."""
    import numpy as np

    steps = np.fft.fftfreq(2 * side, 1 / (2 * side))
    across, down = np.meshgrid(steps, steps, indexing="ij")
    square = across**2 + down**2
    square[0, 0] = 1.0
    return np.asarray(np.fft.fft2((across + 1j * down) / square), dtype=np.complex64)
