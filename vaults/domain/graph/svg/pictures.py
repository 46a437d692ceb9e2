"""A picture of a vault's graph, of a folder of it, or of what is around one note."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from vaults.context import run_in
from vaults.domain.graph import neighbourhoods
from vaults.domain.graph.graph_answers import Answer, Sight
from vaults.domain.graph.note_references import Which
from vaults.domain.graph.relatedness import within
from vaults.domain.graph.svg import drawing, scenes
from vaults.domain.graph.svg.drawing import Picture
from vaults.errors import InvalidArgument
from vaults.files.paths import address
from vaults.graph.note_graph import NONE, Graph
from vaults.vault import Vault

FORMAT, MIME_TYPE = "svg", "image/svg+xml"

RESOURCE = "vault://graph"
"""The picture of a vault; around a note it is that note's address and ``/graph``."""

DEEPEST, FEW = 2, 8
"""Links around a note at most; and notes one link away below which those two away are shown as well, if nothing is
said."""


async def export(vault: Vault, which: Which | None, folder: str | None, depth: int | None) -> Answer:
    """The note and what is ``depth`` links away from it, one or two; without a note the most central ones of a folder,
    or of the vault. ``total`` counts the notes there are. Raises ``NotFound``, ``Conflict`` and ``InvalidArgument``."""
    if depth is not None and depth > DEEPEST:
        raise InvalidArgument("depth", f"must be {DEEPEST} at most for a picture", hint="mermaid and json go further")
    sight, numbers = await neighbourhoods.seen(vault, *([which] if which is not None else []))
    title = folder or vault.name
    uri = _uri(sight.path(numbers[0]) if numbers else None, {"folder": folder, "depth": depth})
    drawn, total = await run_in(vault.shared.pool, _drawn, sight, numbers[0] if numbers else title, folder, depth)
    return Answer(total=total, truncated=drawn.notes < total, format=FORMAT, export=drawn.svg, picture=uri)


def _uri(path: str | None, wanted: Mapping[str, str | int | None]) -> str:
    resource = RESOURCE if path is None else f"{address(path)}/graph"
    query = urlencode({name: value for name, value in wanted.items() if value is not None})
    return f"{resource}?{query}" if query else resource


def _drawn(sight: Sight, about: int | str, folder: str | None, depth: int | None) -> tuple[Picture, int]:
    """``about``: a note by its number, or the title of an overview."""
    if isinstance(about, int):
        near = sight.graph.out.get(about, NONE) | sight.graph.into.get(about, NONE)
        shown = scenes.around(sight.graph, sight.hubs, about, depth or (1 if len(near) >= FEW else DEEPEST))
    else:
        shown = scenes.overview(_part(sight.graph, folder) if folder else sight.graph, sight.hubs, about)
    return drawing.draw(shown), len(shown.dots) + shown.hidden + shown.alone


def _part(graph: Graph, folder: str) -> Graph:
    """What lies in a folder, and the links inside of it."""
    nodes = {number: node for number, node in graph.nodes.items() if within(node.path, folder)}
    out = {number: graph.out.get(number, NONE) & nodes.keys() for number in nodes}
    into = {number: graph.into.get(number, NONE) & nodes.keys() for number in nodes}
    return Graph(graph.change, graph.named, nodes, out, into)
