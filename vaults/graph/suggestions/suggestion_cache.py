"""Caches what suggestions derive from a vault: names as words, habits, vectors."""

from __future__ import annotations

import threading

from vaults.db.sql import Reader
from vaults.graph import entity_vectors
from vaults.graph.entity_vectors import VectorMatrix
from vaults.graph.names import lexicon
from vaults.graph.names.lexicon import Lexicon
from vaults.graph.note_graph import Graph
from vaults.graph.suggestions import link_habits
from vaults.graph.suggestions.link_habits import LinkHabits


class SuggestionCache:
    """Thread-safe. What takes time belongs on a thread of the pool, except the vectors, which are read."""

    def __init__(self) -> None:
        self._lexicon, self._habits, self._matrix = Lexicon(), LinkHabits(), VectorMatrix()
        self._turn, self._reading = threading.Lock(), threading.Lock()

    def matrix(self, tx: Reader) -> VectorMatrix:
        """The vectors as a transaction sees them."""
        with self._reading:
            self._matrix = entity_vectors.catch_up(tx, self._matrix)
            return self._matrix

    def texts(self, tx: Reader, graph: Graph) -> dict[int, str]:
        """The texts to recompute the habits from; none if they are fresh enough."""
        return link_habits.read_sample(tx, graph) if self._habits.stale(graph) else {}

    def at(self, graph: Graph, texts: dict[int, str]) -> tuple[Lexicon, LinkHabits]:
        """Names and habits of a graph. ``texts``: what the method ``texts`` returned."""
        with self._turn:
            if self._lexicon.named != graph.named:
                self._lexicon = lexicon.compile_lexicon(graph)
            if texts or self._habits.stale(graph):
                self._habits = link_habits.count_habits(graph, self._lexicon, texts)
            return self._lexicon, self._habits

    def clear(self) -> None:
        """Free the memory."""
        with self._turn, self._reading:
            self._lexicon, self._habits, self._matrix = Lexicon(), LinkHabits(), VectorMatrix()
