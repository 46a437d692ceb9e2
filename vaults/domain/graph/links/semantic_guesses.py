"""Guessing the target of a broken link by meaning, where no note has a similar name: by the notes' vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from vaults.domain.graph.links.broken_links import BrokenLink
from vaults.domain.graph.links.target_guesses import MAX_GUESSES, MAX_NAME_LENGTH, TargetGuess
from vaults.errors import EmbeddingUnavailable, Overloaded
from vaults.graph.entity_vectors import VectorMatrix
from vaults.graph.note_graph import Graph
from vaults.vault import Vault

MAX_NAMES = 16
"""Max names embedded for one answer."""

MIN_COSINE = 0.45
"""Min cosine for a guess."""

COSINE_WEIGHT = 0.8
"""Factor from cosine to confidence: nearness in meaning is never certain."""


async def add_semantic_guesses(vault: Vault, several: Sequence[BrokenLink]) -> list[BrokenLink]:
    """Add guesses by meaning to broken links without guesses by spelling. Returns the links unchanged while the model
    is unavailable."""
    lost = list(dict.fromkeys(_to_name(each) for each in several if each.reason == "no note" and not each.likely))[
        :MAX_NAMES
    ]
    embedder = vault.embedder
    if not lost or embedder.state().status in ("off", "failed", "hung"):
        return list(several)
    graph, matrix = await vault.db.read(lambda tx: (vault.graph_cache.at(tx), vault.graph_cache.suggestions.matrix(tx)))
    if not matrix.notes:
        return list(several)
    try:
        async with asyncio.timeout(vault.shared.embedding.write_wait_s):
            rows = await embedder.texts(lost, urgent=True)
    except (TimeoutError, EmbeddingUnavailable, Overloaded):
        return list(several)
    identity = embedder.identity
    if identity is None or identity.key != matrix.model:
        return list(several)
    found = {name: _find_near(graph, matrix, row.tobytes()) for name, row in zip(lost, rows, strict=True)}
    return [_add_guesses(each, found) for each in several]


def _to_name(each: BrokenLink) -> str:
    return each.link.page.rpartition("/")[2][:MAX_NAME_LENGTH]


def _find_near(graph: Graph, matrix: VectorMatrix, vector: bytes) -> list[TargetGuess]:
    cosines = {number: share for number, share in matrix.likeness(vector).items() if share >= MIN_COSINE}
    best = sorted(((share, number) for number, share in cosines.items() if number in graph.nodes), reverse=True)
    nodes = [(graph.nodes[number], share) for share, number in best[: MAX_GUESSES + 1]]
    return [
        TargetGuess(node.path, node.title, round(min(share, 1.0) * COSINE_WEIGHT, 2), "meaning")
        for node, share in nodes
    ]


def _add_guesses(each: BrokenLink, found: Mapping[str, list[TargetGuess]]) -> BrokenLink:
    if each.reason != "no note" or each.likely:
        return each
    others = [one for one in found.get(_to_name(each), []) if one.path != each.path]
    return replace(each, likely=others[:MAX_GUESSES])
