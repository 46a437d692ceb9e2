"""Keeps the places of a vault's notes in a picture of all of them, until its graph changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places: TypeAlias = NDArray[np.float64]


class LayoutCache:
    """The layout of the newest graph somebody asked for, one row for each note. One per open vault, used on its event
    loop: who asks while it is computed waits, and nobody computes it twice."""

    def __init__(self) -> None:
        self._change: int | None = None
        self._places: Places | None = None
        self._turn = asyncio.Lock()

    async def at(self, change: int, compute: Callable[[], Awaitable[Places]]) -> Places:
        """The layout of the graph at a change of it."""
        async with self._turn:
            if self._places is None or self._change != change:
                self._places, self._change = await compute(), change
            return self._places

    def clear(self) -> None:
        """Free the memory."""
        self._change, self._places = None, None
