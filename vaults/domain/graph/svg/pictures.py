"""Exporting a picture of a vault's graph, of a folder, or of the surroundings of one note."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from vaults.context import run_in
from vaults.domain.graph import neighbourhoods
from vaults.domain.graph.graph_answers import GraphAnswer, ScoredGraph
from vaults.domain.graph.note_references import NoteReference
from vaults.domain.graph.relatedness import is_within
from vaults.domain.graph.svg import RESOURCE, drawing, scenes
from vaults.domain.graph.svg.drawing import Picture
from vaults.errors import InvalidArgument
from vaults.files.paths import to_address
from vaults.graph.note_graph import NO_NOTES, Graph
from vaults.vault import Vault

FORMAT, MIME_TYPE = "svg", "image/svg+xml"

MAX_DEPTH, FEW_NEIGHBOURS = 2, 8
"""Max steps around a note; and the number of direct neighbours below which the default is two steps."""


async def export_picture(
    vault: Vault, reference: NoteReference | None, folder: str | None, depth: int | None
) -> GraphAnswer:
    """Draw a note and what is within ``depth`` links, one or two; without a note, the most central ones of a folder or
    of the vault. ``total`` counts all notes there. Raises ``NotFound``, ``Conflict`` and ``InvalidArgument``."""
    if depth is not None and depth > MAX_DEPTH:
        raise InvalidArgument("depth", f"must be {MAX_DEPTH} at most for a picture", hint="mermaid and json go further")
    scored, numbers = await neighbourhoods.read_graph_and_notes(vault, *([reference] if reference is not None else []))
    title = folder or vault.name
    uri = _uri(scored.path(numbers[0]) if numbers else None, {"folder": folder, "depth": depth})
    drawn, total = await run_in(
        vault.shared.pool, _draw_picture, scored, numbers[0] if numbers else title, folder, depth
    )
    return GraphAnswer(total=total, truncated=drawn.notes < total, format=FORMAT, export=drawn.svg, picture=uri)


def _uri(path: str | None, wanted: Mapping[str, str | int | None]) -> str:
    resource = RESOURCE if path is None else f"{to_address(path)}/graph"
    query = urlencode({name: value for name, value in wanted.items() if value is not None})
    return f"{resource}?{query}" if query else resource


def _draw_picture(scored: ScoredGraph, about: int | str, folder: str | None, depth: int | None) -> tuple[Picture, int]:
    """``about``: a note's number, or the title of an overview."""
    if isinstance(about, int):
        near = scored.graph.out.get(about, NO_NOTES) | scored.graph.into.get(about, NO_NOTES)
        shown = scenes.build_neighbourhood(
            scored.graph, scored.hubs, about, depth or (1 if len(near) >= FEW_NEIGHBOURS else MAX_DEPTH)
        )
    else:
        shown = scenes.build_overview(
            _select_folder(scored.graph, folder) if folder else scored.graph, scored.hubs, about
        )
    return drawing.draw(shown), len(shown.dots) + shown.hidden + shown.alone


def _select_folder(graph: Graph, folder: str) -> Graph:
    """The part of the graph in a folder, with the links inside it."""
    nodes = {number: node for number, node in graph.nodes.items() if is_within(node.path, folder)}
    out = {number: graph.out.get(number, NO_NOTES) & nodes.keys() for number in nodes}
    into = {number: graph.into.get(number, NO_NOTES) & nodes.keys() for number in nodes}
    return Graph(graph.change, graph.named, nodes, out, into)
