"""The graph of one vault, kept in memory and caught up before each answer. It costs nothing until somebody asks."""

from __future__ import annotations

import threading

from vaults.db.connection import Database
from vaults.db.sql import Reader
from vaults.graph.co_access import CoAccessRecorder
from vaults.graph.names.gazetteer import Gazetteer, update_gazetteer
from vaults.graph.note_graph import Graph, catch_up
from vaults.graph.suggestions.suggestion_cache import SuggestionCache


class GraphCache:
    """Safe from any thread, but for ``co_access`` and ``unchanged_s``, which are for the vault's loop."""

    def __init__(self, db: Database) -> None:
        self.co_access = CoAccessRecorder(db)
        self.suggestions = SuggestionCache()
        self._changed = (0, 0.0)
        self._graph = Graph()
        self._gazetteer = Gazetteer()
        self._turn = threading.Lock()

    def at(self, tx: Reader) -> Graph:
        """The graph as a transaction sees it."""
        with self._turn:
            self._graph = catch_up(tx, self._graph)
            return self._graph

    def gazetteer(self, tx: Reader) -> Gazetteer:
        """All names of notes as a transaction sees them. It is made anew only where a name changed."""
        with self._turn:
            self._graph = catch_up(tx, self._graph)
            self._gazetteer = update_gazetteer(self._graph, self._gazetteer)
            return self._gazetteer

    def clear(self) -> None:
        """Give the memory back."""
        self._graph, self._gazetteer = Graph(), Gazetteer()
        self.suggestions.clear()

    def unchanged_s(self, change: int, now: float) -> float:
        """Seconds since the graph was first seen to be at this change of it; ``now`` by a clock nobody sets."""
        if self._changed[0] != change:
            self._changed = (change, now)
        return now - self._changed[1]
