"""Health of a vault's links: counts, an estimate of missing links, and what was learned from feedback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.graph.links import stubs
from vaults.domain.graph.links.stubs import Stub
from vaults.errors import StrongroomError
from vaults.graph.link_feedback.link_stats import LinkStats, read_link_stats
from vaults.graph.names.gazetteer import Gazetteer
from vaults.graph.note_graph import NO_NOTES, Graph, Node
from vaults.markdown.encoding import NotText, decode
from vaults.markdown.protected_spans import find_protected
from vaults.vault import Vault

SAMPLE_NOTES = 60
"""Notes sampled to estimate how many names are not linked."""

MAX_CHARACTERS = 50_000
"""Max characters read of each sampled note."""

MAX_STUBS = 5


@dataclass(frozen=True, slots=True)
class LinkHealth:
    """``unlinked``: about how many names of notes stand in others unlinked, each counted once a note, by a sample of
    ``sampled`` notes. ``stubs``: the names most linked to without a note, of ``stubs_total``."""

    tallies: LinkStats
    unlinked: int
    sampled: int
    stubs: list[Stub]
    stubs_total: int


async def read_link_health(vault: Vault) -> LinkHealth:
    """Gather all figures, in time that hardly grows with the vault."""
    counted, wanted, graph, gazetteer = await vault.db.read(lambda tx: _read_rows(vault, tx))
    nodes = list(graph.nodes.values())
    chosen = nodes[:: max(1, len(nodes) // SAMPLE_NOTES)][:SAMPLE_NOTES]
    found = await run_in(vault.shared.pool, _estimate_unlinked, vault, graph, gazetteer, chosen)
    estimate = round(found * len(nodes) / len(chosen)) if chosen else 0
    return LinkHealth(counted, estimate, len(chosen), wanted.stubs, wanted.total)


def _read_rows(vault: Vault, tx: Reader) -> tuple[LinkStats, stubs.StubPage, Graph, Gazetteer]:
    return (
        read_link_stats(tx),
        stubs.read_stubs(tx, MAX_STUBS),
        vault.graph_cache.at(tx),
        vault.graph_cache.gazetteer(tx),
    )


def _estimate_unlinked(vault: Vault, graph: Graph, gazetteer: Gazetteer, nodes: Sequence[Node]) -> int:
    return sum(_count_unlinked_names(vault, graph, gazetteer, each) for each in nodes)


def _count_unlinked_names(vault: Vault, graph: Graph, gazetteer: Gazetteer, node: Node) -> int:
    try:
        text = decode(vault.notes.tree.read(node.path, vault.notes.settings.max_note).data).text[:MAX_CHARACTERS]
    except (StrongroomError, NotText):
        return 0
    known = graph.out.get(node.number, NO_NOTES) | {node.number}
    named = {each.notes for each in gazetteer.mentions(text, find_protected(text))}
    return sum(not known & set(notes) for notes in named)
