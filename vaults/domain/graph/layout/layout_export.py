"""Exporting where each note of a vault lies in a picture one can move about in, and what it is coloured by."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, TypeAlias

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.graph import note_maturity
from vaults.domain.graph.analyses import count_neighbours
from vaults.domain.graph.graph_answers import GraphAnswer
from vaults.domain.graph.layout.force_layout import place_notes
from vaults.domain.graph.svg.scenes import group_by_folder, to_label, to_titles
from vaults.graph.note_graph import NO_NOTES, Graph
from vaults.vault import Vault

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places: TypeAlias = NDArray[np.float64]
    Numbers: TypeAlias = NDArray[np.int64]

FORMAT = "layout"

MAX_NOTES, MAX_LINKS = 20_000, 200_000
"""Max notes and links: those with most links first."""

MAX_TITLE = 200
"""Max characters of a title: a picture shows fewer."""

SCALE = 100
"""Places are whole numbers, of which so many are the width of a note's own room."""

_DAY_0 = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class ShownGraph:
    """The notes with most links first, by number, and the links between them, as pairs of positions in that order."""

    notes: Sequence[int]
    pairs: Numbers


async def export_layout(vault: Vault) -> GraphAnswer:
    """Every note of the vault, in JSON: ``paths``, ``titles``, ``x``, ``y``, ``days`` (the day it was last changed,
    since 1970), ``into`` and ``out`` (notes that link to it, and that it links to) hold a value for each;
    ``folder`` and ``type`` a position in ``folders`` and ``types``; ``links`` two positions for each pair of notes, one
    after the other. ``truncated``: the vault has more than ``MAX_NOTES``."""

    def read(tx: Reader) -> tuple[Graph, dict[int, str]]:
        return vault.graph_cache.at(tx), note_maturity.read_last_changes(tx)

    pool, kept = vault.shared.pool, vault.graph_cache.layouts
    graph, changes = await vault.db.read(read)

    async def compute() -> str:
        shown = await run_in(pool, _choose, graph)
        places = await kept.places.at(graph.change, lambda: run_in(pool, place_notes, len(shown.notes), shown.pairs))
        return await run_in(pool, _write, graph, shown, places, changes)

    document = await kept.documents.at((graph.change, changes), compute)
    return GraphAnswer(total=len(graph.nodes), truncated=len(graph.nodes) > MAX_NOTES, format=FORMAT, export=document)


def _choose(graph: Graph) -> ShownGraph:
    import numpy as np

    order = sorted(graph.nodes, key=lambda number: (-count_neighbours(graph, number), graph.nodes[number].path))
    notes = order[:MAX_NOTES]
    place = {number: index for index, number in enumerate(notes)}
    pairs = {
        (min(here, place[other]), max(here, place[other]))
        for number, here in place.items()
        for other in graph.out.get(number, NO_NOTES)
        if other in place
    }
    kept = sorted(pairs, key=lambda pair: (pair[1], pair[0]))[:MAX_LINKS]
    return ShownGraph(notes, np.array(kept, dtype=np.int64).reshape(-1, 2))


def _write(graph: Graph, shown: ShownGraph, places: Places, changes: Mapping[int, str]) -> str:
    import numpy as np

    nodes = [graph.nodes[number] for number in shown.notes]
    titles, folders = to_titles(nodes), group_by_folder(nodes)
    whole = np.round(places * SCALE).astype(np.int64)
    return json.dumps(
        {
            "paths": [node.path for node in nodes],
            "titles": [titles[number][:MAX_TITLE] for number in shown.notes],
            "x": whole[:, 0].tolist(),
            "y": whole[:, 1].tolist(),
            **_to_groups("folder", "folders", [folders[number] for number in shown.notes]),
            **_to_groups("type", "types", [node.category for node in nodes]),
            "days": [_to_day(changes.get(number, "")) for number in shown.notes],
            "into": [len(graph.into.get(number, NO_NOTES)) for number in shown.notes],
            "out": [len(graph.out.get(number, NO_NOTES)) for number in shown.notes],
            "links": shown.pairs.ravel().tolist(),
        },
        separators=(",", ":"),
    )


def _to_groups(each: str, all_of_them: str, names: Sequence[str]) -> dict[str, Any]:
    """Names as positions in a list of them, the most frequent first."""
    from collections import Counter

    counted = Counter(names)
    order = sorted(counted, key=lambda name: (-counted[name], name))
    place = {name: index for index, name in enumerate(order)}
    return {each: [place[name] for name in names], all_of_them: [to_label(name) for name in order]}


def _to_day(changed_at: str) -> int:
    """0 for a note that went a moment ago, after the graph was read."""
    return date.fromisoformat(changed_at[:10]).toordinal() - _DAY_0 if changed_at else 0
