"""A picture of a vault's graph, or of what is around one note."""

from __future__ import annotations

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.graph.picturing import drawing, scene
from vaults.domain.graph.picturing.drawing import Picture
from vaults.domain.notes import catalogue
from vaults.errors import InvalidArgument
from vaults.graph import scores
from vaults.graph.graph import Graph
from vaults.vault import Vault

SVG = "image/svg+xml"

DEEPEST = 2


async def picture(vault: Vault, path: str | None = None, depth: int = 1) -> Picture:
    """The note at ``path`` and what is ``depth`` links away from it, one or two; without a path the vault's most
    central notes. Raises ``NotFound`` and ``InvalidArgument``."""
    if not 1 <= depth <= DEEPEST:
        raise InvalidArgument("depth", f"must be from 1 to {DEEPEST}", hint="more than two links around shows nothing")

    def read(tx: Reader) -> tuple[Graph, dict[int, float], int | None]:
        middle = catalogue.find(tx, path)[0] if path is not None else None
        return vault.atlas.at(tx), scores.hubs(tx), middle

    graph, hubs, middle = await vault.db.read(read)

    def drawn() -> Picture:
        if middle is None:
            return drawing.draw(scene.overview(graph, hubs, vault.name))
        return drawing.draw(scene.around(graph, hubs, middle, depth))

    return await run_in(vault.shared.pool, drawn)
