"""A lock that many share, or one holds alone.

The standard library has none. ``readerwriterlock`` on PyPI was considered: its writer-first variant starves readers
while writers queue, and forty lines are less to trust than a dependency.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ReadersWriterLock:
    """Shared for searching, exclusive for changing. Not re-entrant in either mode.

    A waiting writer lets no new reader in, so readers that overlap without end cannot starve it. A reader that
    has waited for one writer to finish no longer queues behind further ones, so writers cannot starve readers.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._readers = 0
        self._writing = False
        self._writers_waiting = 0
        self._writes = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold together with other readers."""
        with self._changed:
            arrived = self._writes
            while self._writing or (self._writers_waiting and self._writes == arrived):
                self._changed.wait()
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold alone."""
        with self._changed:
            self._writers_waiting += 1
            try:
                while self._writing or self._readers:
                    self._changed.wait()
                self._writing = True
            finally:
                self._writers_waiting -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._writing = False
                self._writes += 1
                self._changed.notify_all()
