"""Several servers over one PostgreSQL, beside one server by itself: what the same work costs, and how long losses last.

Every figure is a ratio within this run, or a time that callers wait. PostgreSQL runs here too, on the same cores, and
waits for its disk.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.cluster import costs, losses, many_vaults, shared_load
from bench.figures import Figure
from bench.run import Run


def measure(run: Run) -> Iterator[Figure]:
    for part in (costs, shared_load, losses, many_vaults):
        yield from part.measure(run)
