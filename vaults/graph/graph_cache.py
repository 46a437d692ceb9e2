"""Caches the graph of one vault, brought up to date before each answer. It costs nothing until somebody asks."""

from __future__ import annotations

import threading

from vaults.db.connection import Database
from vaults.db.sql import Reader
from vaults.graph.central_ranking import CentralRanking
from vaults.graph.co_access import CoAccessRecorder
from vaults.graph.layout_cache import LayoutCache, NewestResult
from vaults.graph.names.gazetteer import Gazetteer, update_gazetteer
from vaults.graph.note_graph import Graph, catch_up
from vaults.graph.suggestions.suggestion_cache import SuggestionCache


class GraphCache:
    """The graph and what is derived from it. Thread-safe, except ``co_access``, ``layouts``, ``central`` and
    ``unchanged_s``, which belong to the vault's event loop."""

    def __init__(self, db: Database) -> None:
        self.co_access = CoAccessRecorder(db)
        self.suggestions = SuggestionCache()
        self.layouts = LayoutCache()
        self.central: NewestResult[CentralRanking] = NewestResult()
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
        """All names of notes as a transaction sees them. Updated only if a name changed."""
        with self._turn:
            self._graph = catch_up(tx, self._graph)
            self._gazetteer = update_gazetteer(self._graph, self._gazetteer)
            return self._gazetteer

    def clear(self) -> None:
        """Free the memory, but for the places of notes in a layout."""
        self._graph, self._gazetteer = Graph(), Gazetteer()
        self.suggestions.clear()
        self.layouts.rest()
        self.central.clear()

    def unchanged_s(self, change: int, now: float) -> float:
        """Seconds since the graph was first seen at this change; ``now`` is of a monotonic clock."""
        if self._changed[0] != change:
            self._changed = (change, now)
        return now - self._changed[1]
