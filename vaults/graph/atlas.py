"""The graph of one vault, kept in memory and caught up before each answer. It costs nothing until somebody asks."""

from __future__ import annotations

import threading

from vaults.db.sql import Reader
from vaults.graph.graph import Graph, caught_up


class Atlas:
    """Safe from any thread."""

    def __init__(self) -> None:
        self._graph = Graph()
        self._turn = threading.Lock()

    def at(self, tx: Reader) -> Graph:
        """The graph as a transaction sees it."""
        with self._turn:
            self._graph = caught_up(tx, self._graph)
            return self._graph

    def clear(self) -> None:
        """Give the memory back."""
        self._graph = Graph()
