"""The most central notes are ranked once for each state of the graph, and an answer never shows that they were.

Covers vaults.graph.central_ranking.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping
from typing import Any

import pytest

from server.services import Services
from tests import noted
from tests.conftest import Asking
from vaults.domain.graph import central_notes
from vaults.graph import centrality
from vaults.graph.central_ranking import CentralRanking, rank_notes
from vaults.graph.note_graph import Graph, Node

NOTES = {
    **{f"spokes/{number}.md": f"# Spoke {number}\n\n[[Hub]] [[{(number + 1) % 7}]]\n" for number in range(7)},
    "Hub.md": "# Hub\n\n[[spokes/3]]\n",
    "alone.md": "# Alone\n",
}


@pytest.fixture
def ranked(monkeypatch: pytest.MonkeyPatch) -> list[Graph]:
    """The graphs that were ranked."""
    seen: list[Graph] = []

    def rank(graph: Graph, hubs: Mapping[int, float]) -> CentralRanking:
        seen.append(graph)
        return rank_notes(graph, hubs)

    monkeypatch.setattr(central_notes, "rank_notes", rank)
    return seen


async def _ready(services: Services) -> None:
    noted.put(noted.folder(services.data), NOTES)
    await noted.indexed(services, len(NOTES))


async def _forget(services: Services) -> None:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        vault.graph_cache.clear()


async def test_what_was_ranked_is_kept_until_a_link_or_a_score_changes(
    services: Services, ask: Asking, ranked: list[Graph]
) -> None:
    await _ready(services)

    async def central(**more: Any) -> str:
        """The answer, byte for byte; as text it has a fence of its own each time."""
        return json.dumps((await ask("graph", action="analyse", analysis="centrality", **more)).content)

    first = await central()
    assert json.loads(first)["nodes"][0]["path"] == "Hub.md"
    assert await central() == first
    within = await central(folder="spokes")
    assert len(ranked) == 1
    await _forget(services)
    assert await central(folder="spokes") == within
    assert await central() == first
    assert len(ranked) == 2, "what is kept answers as what is computed"
    await noted.settled(services)
    assert await central() == first, "stored scores are those that were computed"
    assert len(ranked) == 3
    await ask("note_edit", path="alone.md", content="[[Hub]]")
    after = await central()
    assert "alone.md" in [node["path"] for node in json.loads(after)["nodes"]]
    assert (await central(), len(ranked)) == (after, 4)


async def test_pages_of_a_ranking_are_the_whole_of_it(services: Services, ask: Asking) -> None:
    await _ready(services)
    await noted.settled(services)
    whole = (await ask("graph", action="analyse", analysis="centrality")).content
    paths, cursor = [], None
    while True:
        more = {} if cursor is None else {"cursor": cursor}
        page = (await ask("graph", action="analyse", analysis="centrality", limit=3, **more)).content
        assert page["total"] == whole["total"] == 8
        paths += [node["path"] for node in page["nodes"]]
        cursor = page.get("cursor")
        if cursor is None:
            break
    assert paths == [node["path"] for node in whole["nodes"]]
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        stored = await vault.db.read(centrality.read_scores)
        graph = await vault.db.read(vault.graph_cache.at)
    by_path = {graph.nodes[number].path: hub for number, hub in stored.items()}
    assert paths == sorted(by_path, key=lambda path: (-by_path[path], path))
    assert {node["path"]: (node["score"], node["hub"]) for node in whole["nodes"]} == {
        path: (hub, hub) for path, hub in by_path.items()
    }


def test_equal_scores_stand_by_path_and_what_has_none_or_is_gone_is_left_out() -> None:
    graph = Graph(nodes={number: Node(number, f"{path}.md", path, (), "") for number, path in enumerate("dcba")})
    found = rank_notes(graph, {0: 5.0, 1: 7.5, 2: 5.0, 3: 0.0, 9: 100.0})
    assert found == CentralRanking(array("q", [1, 2, 0]), array("d", [7.5, 5.0, 5.0]))
