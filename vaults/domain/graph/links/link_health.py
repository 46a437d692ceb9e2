"""How the links of a vault are doing: counts, an estimate of what is not linked, what was learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.graph.links import stubs
from vaults.domain.graph.links.stubs import Stub
from vaults.errors import StrongroomError
from vaults.graph.link_feedback.link_stats import Tallies, tallies
from vaults.graph.names.gazetteer import Gazetteer
from vaults.graph.note_graph import NONE, Graph, Node
from vaults.markdown.encoding import NotText, decode
from vaults.markdown.protected_spans import protected
from vaults.vault import Vault

SAMPLE = 60
"""Notes read to estimate how many names are not linked."""

LONGEST = 50_000
"""Characters of each of them."""

STUBS = 5


@dataclass(frozen=True, slots=True)
class Health:
    """``unlinked``: about how many names of notes stand in others unlinked, each counted once a note, by a sample of
    ``sampled`` notes. ``stubs``: the names most linked to without a note, of ``stubs_total``."""

    tallies: Tallies
    unlinked: int
    sampled: int
    stubs: list[Stub]
    stubs_total: int


async def health(vault: Vault) -> Health:
    """All of it, in time that hardly grows with the vault."""
    counted, wanted, graph, gazetteer = await vault.db.read(lambda tx: _read(vault, tx))
    nodes = list(graph.nodes.values())
    chosen = nodes[:: max(1, len(nodes) // SAMPLE)][:SAMPLE]
    found = await run_in(vault.shared.pool, _unlinked, vault, graph, gazetteer, chosen)
    estimate = round(found * len(nodes) / len(chosen)) if chosen else 0
    return Health(counted, estimate, len(chosen), wanted.stubs, wanted.total)


def _read(vault: Vault, tx: Reader) -> tuple[Tallies, stubs.Stubs, Graph, Gazetteer]:
    return tallies(tx), stubs.stubs(tx, STUBS), vault.atlas.at(tx), vault.atlas.gazetteer(tx)


def _unlinked(vault: Vault, graph: Graph, gazetteer: Gazetteer, nodes: Sequence[Node]) -> int:
    return sum(_of(vault, graph, gazetteer, each) for each in nodes)


def _of(vault: Vault, graph: Graph, gazetteer: Gazetteer, node: Node) -> int:
    try:
        text = decode(vault.notes.tree.read(node.path, vault.notes.settings.max_note).data).text[:LONGEST]
    except (StrongroomError, NotText):
        return 0
    known = graph.out.get(node.number, NONE) | {node.number}
    named = {each.notes for each in gazetteer.mentions(text, protected(text))}
    return sum(not known & set(notes) for notes in named)
