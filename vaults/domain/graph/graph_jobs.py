"""What is done for the graph in the background: centrality scores, daily counts, links of an earlier version."""

from __future__ import annotations

import time
from functools import partial

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.graph import centrality, daily_counts, graph_clock
from vaults.graph.centrality import Edge
from vaults.graph.links import link_index
from vaults.vault import BackgroundJob, Vault

IDLE_S = 5.0
"""Seconds without a change before scores are computed: amid many changes they would be outdated at once."""

SCORES_PER_WRITE = 200
"""Scores written in one transaction: a concurrent save waits for no more than that."""

NAMES_PER_WRITE = 200
"""Names resolved in one transaction."""


async def rescore_when_idle(vault: Vault) -> None:
    """A background job: rescore once the graph has not changed for a while. A save never waits for it."""
    change = await vault.db.read(graph_clock.read_latest)
    rested = vault.graph_cache.unchanged_s(change, time.monotonic())
    if rested < IDLE_S:
        vault.background.start_later(IDLE_S)
        return
    await update_centrality(vault)


async def update_centrality(vault: Vault) -> None:
    """Compute and store the scores now."""
    change, linked = await vault.db.read(_read_edges)
    found = await run_in(vault.shared.pool, centrality.compute_centrality, linked)
    fresh = await vault.db.read(lambda tx: centrality.find_changed_scores(tx, found))
    for start in range(0, len(fresh), SCORES_PER_WRITE):
        await vault.db.write_uncounted(partial(centrality.store_scores, fresh=fresh[start : start + SCORES_PER_WRITE]))
    await vault.db.write_uncounted(partial(centrality.mark_scored, change=change))


def _read_edges(tx: Reader) -> tuple[int, list[Edge]]:
    return graph_clock.read_latest(tx), centrality.read_edges(tx)


async def write_daily_counts(vault: Vault) -> None:
    """A background job: write today's counts."""
    await vault.db.write_uncounted(daily_counts.write_today)


async def resolve_links(vault: Vault) -> None:
    """A background job: resolve links that an earlier version left unresolved, once. If interrupted, it starts over,
    which is harmless: correct links stay as they are."""
    keys = await vault.db.read(link_index.read_target_keys)
    for start in range(0, len(keys), NAMES_PER_WRITE):
        await vault.db.write(partial(link_index.resolve_names, keys=keys[start : start + NAMES_PER_WRITE]))
    await vault.db.write(link_index.mark_resolved)


RESCORE = BackgroundJob("rescore_graph", centrality.is_due, rescore_when_idle)
RESOLVE_LINKS = BackgroundJob("resolve_links", link_index.is_due, resolve_links)
WRITE_DAILY_COUNTS = BackgroundJob("write_daily_counts", daily_counts.is_due, write_daily_counts)
