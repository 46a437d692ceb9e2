"""The most central notes of a vault, page by page. They are ranked once, until the graph or its scores change."""

from __future__ import annotations

from dataclasses import replace

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.graph.graph_answers import GraphNode, to_graph_node
from vaults.graph import centrality
from vaults.graph.central_ranking import CentralRanking, rank_notes
from vaults.graph.note_graph import Graph
from vaults.vault import Vault


async def read_central(vault: Vault) -> tuple[Graph, CentralRanking]:
    """The graph, and its notes that have a score: that of the last background job, or computed now where the graph has
    changed since."""
    graph, scored_at, is_due = await vault.db.read(lambda tx: _read_state(tx, vault.graph_cache.at(tx)))
    pool = vault.shared.pool

    async def rank() -> CentralRanking:
        if is_due:
            hubs = await run_in(pool, lambda: centrality.compute_centrality(centrality.list_edges(graph)))
        else:
            hubs = await vault.db.read(centrality.read_scores)
        return await run_in(pool, rank_notes, graph, hubs)

    return graph, await vault.graph_cache.central.at((graph.change, scored_at, is_due), rank)


def _read_state(tx: Reader, graph: Graph) -> tuple[Graph, int, bool]:
    return graph, centrality.read_scored_change(tx), centrality.is_due(tx)


def to_central_node(graph: Graph, number: int, hub: float) -> GraphNode:
    """Describe a note that is listed for how central it is."""
    return replace(to_graph_node(graph, number, {number: hub}), score=hub)
