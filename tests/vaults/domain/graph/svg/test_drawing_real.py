"""Pictures of a vault people wrote, where it is at hand: nearly every label finds a place, and none is over another.

Covers vaults.domain.graph.svg.scenes.
"""

from __future__ import annotations

import csv
from itertools import combinations
from pathlib import Path

import pytest

from tests.vaults.domain.graph.svg.test_drawing import graph_of
from vaults.domain.graph.svg import scenes
from vaults.domain.graph.svg.drawing import compose, draw
from vaults.graph.note_graph import Graph

PLACE = Path(__file__).resolve().parents[6] / "shared" / "vaults" / "silverbullet-docs"


@pytest.fixture(scope="module")
def graph() -> Graph:
    if not PLACE.is_dir():
        pytest.skip("the vault is not here")
    paths = sorted(each.relative_to(PLACE / "notes").as_posix() for each in (PLACE / "notes").rglob("*.md"))
    number = {path: place for place, path in enumerate(paths, 1)}
    with (PLACE / "links.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return graph_of(paths, [(number[row["source"]], number[row["target"]]) for row in rows if row["target"]])


@pytest.mark.parametrize("path", [None, "Space Lua.md", "Linked Mention.md", "API/widget.md"])
def test_labels_of_a_real_vault_can_be_read(graph: Graph, path: str | None) -> None:
    node = graph.at(path) if path else None
    shown = scenes.build_neighbourhood(graph, {}, node.number, 2) if node else scenes.build_overview(graph, {}, "docs")
    _, labels = compose(shown)
    assert len(labels) >= 0.9 * sum(dot.named for dot in shown.dots)
    assert sum("…" in "".join(label.lines) for label in labels) <= 0.1 * len(labels)
    assert not any(one.box.meets(other.box) for one, other in combinations(labels, 2))
    assert len(draw(shown).svg) < 80_000
