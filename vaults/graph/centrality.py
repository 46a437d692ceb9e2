"""How central each note is: eigenvector centrality, 100 for the most central, computed in the background."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

from vaults.db.sql import Reader, Writer
from vaults.graph import graph_clock
from vaults.graph.note_graph import Graph

ITERATIONS = 50
TOLERANCES = (1e-6, 1e-4, 1.0)
"""Tolerances to try in turn: a graph that does not converge in time gets a coarser one, the last accepts any result."""

DIGITS = 2
"""Decimals kept, so that a distant change rewrites no rows."""

Edge = tuple[int, int]


def read_scores(tx: Reader) -> dict[int, float]:
    """The stored score of each note, by number; a note that is not in it has none."""
    return {int(note): float(hub) for note, hub in tx.all("SELECT note, hub FROM note_scores")}


def read_score(tx: Reader, note: int) -> float:
    """The stored score of one note, 0 if it has none."""
    return float(tx.value("SELECT hub FROM note_scores WHERE note = :note", {"note": note}) or 0.0)


def read_edges(tx: Reader) -> list[Edge]:
    """Pairs of linked notes, in either direction, each pair once."""
    rows = tx.all("SELECT DISTINCT note, meant FROM note_links WHERE meant IS NOT NULL AND meant <> note")
    return list({(min(a, b), max(a, b)) for a, b in rows})


def list_edges(graph: Graph) -> list[Edge]:
    """Like ``read_edges``, of a graph in memory."""
    return list({(min(a, b), max(a, b)) for a, several in graph.out.items() for b in several})


def read_scored_change(tx: Reader) -> int:
    """The change of the graph that the scores were computed at; 0 if never."""
    return int(tx.value("SELECT value FROM vault_info WHERE key = 'scored'") or 0)


def is_due(tx: Reader) -> bool:
    """Whether the graph changed since the scores were computed, or they were dropped, and there is or was anything to
    score."""
    some = tx.one("SELECT 1 FROM note_scores LIMIT 1") is not None
    linked = tx.one("SELECT 1 FROM note_links WHERE meant IS NOT NULL AND meant <> note LIMIT 1") is not None
    return some != linked or (some and graph_clock.read_latest(tx) != read_scored_change(tx))


def compute_centrality(linked: Collection[Edge]) -> dict[int, float]:
    """Eigenvector centrality (Bonacich, Power and centrality, 1987) of all linked notes, 0 to 100, by at most 50 power
    iterations on the undirected graph. Linear in the edges; 60,000 take some tens of milliseconds, so call it on a
    thread."""
    numbers = sorted({*(a for a, _ in linked), *(b for _, b in linked)})
    if not numbers:
        return {}
    import rustworkx

    place = {number: index for index, number in enumerate(numbers)}
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(numbers)
    graph.add_edges_from([(place[a], place[b], 1.0) for a, b in linked])
    # Give each note a link to itself, as heavy as the largest star demands: else the numbers swing between a hub and
    # what links to it and never converge. The resulting vector is the same.
    loop = math.sqrt(max(map(graph.degree, range(len(numbers)))))
    graph.add_edges_from([(index, index, loop) for index in range(len(numbers))])
    for tolerance in TOLERANCES:
        try:
            found = rustworkx.eigenvector_centrality(graph, weight_fn=float, max_iter=ITERATIONS, tol=tolerance)
        except rustworkx.FailedToConverge:
            continue
        return _scale(numbers, [found[index] for index in range(len(numbers))])
    return dict.fromkeys(numbers, 0.0)


def _scale(numbers: Iterable[int], values: Collection[float]) -> dict[int, float]:
    top = max(values)
    if not (top > 0 and math.isfinite(top)):
        return dict.fromkeys(numbers, 0.0)
    return {number: round(100 * abs(value) / top, DIGITS) for number, value in zip(numbers, values, strict=True)}


def find_changed_scores(tx: Reader, found: Mapping[int, float]) -> list[tuple[int, float | None]]:
    """Notes whose score differs from the stored one, with the new score, None if it has none any more. In the order of
    their rows."""
    stored = read_scores(tx)
    gone: list[tuple[int, float | None]] = [(note, None) for note in stored if note not in found]
    return sorted(
        gone + [(note, hub) for note, hub in found.items() if stored.get(note) != hub], key=lambda each: each[0]
    )


def store_scores(tx: Writer, fresh: Iterable[tuple[int, float | None]]) -> None:
    """Store or delete scores; those of notes deleted meanwhile are skipped."""
    rows = list(fresh)
    tx.many("DELETE FROM note_scores WHERE note = :note", [{"note": note} for note, hub in rows if hub is None])
    tx.many(
        "INSERT INTO note_scores (note, hub) SELECT seq, :hub FROM notes WHERE seq = :note"
        " ON CONFLICT (note) DO UPDATE SET hub = excluded.hub",
        [{"note": note, "hub": hub} for note, hub in rows if hub is not None],
    )


def mark_scored(tx: Writer, change: int) -> None:
    """Record that all scores are as of this change of the graph."""
    tx.run(
        "INSERT INTO vault_info (key, value) VALUES ('scored', :change)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        {"change": str(change)},
    )
