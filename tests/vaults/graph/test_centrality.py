"""Scores say how central notes are, whatever the graph looks like, and are kept behind the saves.

Covers vaults.domain.graph.graph_jobs, vaults.graph.graph_clock.
"""

from __future__ import annotations

import pytest

from tests import noted
from tests.conftest import Opening
from vaults.db.sql import Reader
from vaults.domain.graph import graph_jobs
from vaults.graph import centrality, graph_clock
from vaults.graph.centrality import Edge, compute_centrality


def test_the_most_central_note_has_a_hundred_and_its_rays_are_alike() -> None:
    star = compute_centrality([(1, ray) for ray in range(2, 10)])
    assert star[1] == 100
    assert len({star[ray] for ray in range(2, 10)}) == 1
    # The eigenvector of a star: a ray has the centre's share divided by the root of the number of rays.
    assert star[2] == pytest.approx(100 / 8**0.5, abs=0.02)


def test_a_hub_of_ten_thousand_comes_to_rest() -> None:
    many: list[Edge] = [(1, ray) for ray in range(2, 10_002)]
    assert compute_centrality(many)[2] == pytest.approx(1.0, abs=0.02)


def test_parts_that_do_not_hang_together_are_scored_too() -> None:
    dense = [(a, b) for a in range(5) for b in range(a + 1, 5)]
    found = compute_centrality([*dense, (10, 11)])
    assert found[0] == 100
    assert 0 <= found[10] < 1


def test_a_long_chain_which_does_not_come_to_rest_in_time_is_scored_as_it_is_by_then() -> None:
    found = compute_centrality([(number, number + 1) for number in range(3_000)])
    assert len(found) == 3_001
    assert max(found.values()) == 100
    assert found[1_500] > found[0]


def test_no_links_no_scores() -> None:
    assert compute_centrality([]) == {}


async def test_scores_follow_the_graph_once_it_is_at_rest(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_jobs, "IDLE_S", 0.02)

    def scored(tx: Reader) -> bool:
        return centrality.read_scored_change(tx) == graph_clock.read_latest(tx)

    async with opening() as services:
        root = noted.folder(services.data)
        noted.put(root, {"hub.md": "# Hub\n", **{f"{n}.md": "[[hub]]\n" for n in range(4)}})
        await noted.indexed(services, 5)
        await noted.until(services, scored)
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            hub, found = await vault.db.read(
                lambda tx: (tx.value("SELECT seq FROM notes WHERE path = 'hub.md'"), centrality.read_scores(tx))
            )
            assert found[hub] == 100
            assert len(found) == 5
        for n in range(4):
            (root / f"{n}.md").unlink()
        await noted.indexed(services, 1)
        await noted.until(services, lambda tx: not centrality.read_scores(tx))
