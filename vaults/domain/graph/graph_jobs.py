"""Keeping the scores of notes up to date, behind the saves."""

from __future__ import annotations

import time
from functools import partial

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.graph import centrality, graph_clock
from vaults.graph.centrality import Edge
from vaults.vault import Chore, Vault

QUIET_S = 5.0
"""Seconds without a change before scores are worked out: in the midst of many they would be old at once."""

PAGE = 200
"""Scores in one transaction: a save that comes meanwhile waits for no more than that."""


async def score(vault: Vault) -> None:
    """A chore: once the graph has been at rest for a while. A save never waits for it."""
    change = await vault.db.read(graph_clock.last)
    rested = vault.atlas.rested_s(change, time.monotonic())
    if rested < QUIET_S:
        vault.nudge_in(QUIET_S)
        return
    await rescore(vault)


async def rescore(vault: Vault) -> None:
    """Work them out now."""
    change, linked = await vault.db.read(_read)
    found = await run_in(vault.shared.pool, centrality.centrality, linked)
    fresh = await vault.db.read(lambda tx: centrality.differing(tx, found))
    for start in range(0, len(fresh), PAGE):
        await vault.db.write_aside(partial(centrality.store, fresh=fresh[start : start + PAGE]))
    await vault.db.write_aside(partial(centrality.settled, change=change))


def _read(tx: Reader) -> tuple[int, list[Edge]]:
    return graph_clock.last(tx), centrality.edges(tx)


SCORE = Chore(centrality.owed, score)
