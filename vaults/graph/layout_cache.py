"""Keeps what a picture of a whole vault is made from, until its graph changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places: TypeAlias = NDArray[np.float64]

T = TypeVar("T")


class NewestResult(Generic[T]):
    """What was computed for the newest state somebody asked for. Who asks meanwhile waits, and nothing is computed
    twice."""

    def __init__(self) -> None:
        self._kept: tuple[object, T] | None = None
        self._turn = asyncio.Lock()

    async def at(self, state: object, compute: Callable[[], Awaitable[T]]) -> T:
        """The result for a state, which equals another where the result is the same."""
        async with self._turn:
            if self._kept is None or self._kept[0] != state:
                self._kept = state, await compute()
            return self._kept[1]

    def clear(self) -> None:
        """Free the memory."""
        self._kept = None


class LayoutCache:
    """``places``: of each note, a row. ``documents``: with all else a picture shows. One per open vault, used on its
    event loop."""

    def __init__(self) -> None:
        self.places: NewestResult[Places] = NewestResult()
        self.documents: NewestResult[str] = NewestResult()

    def rest(self) -> None:
        """Free what takes memory. Places stay, 16 bytes a note: they take seconds to find again."""
        self.documents.clear()
