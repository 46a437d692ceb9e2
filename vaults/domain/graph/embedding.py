"""Keeping the vectors of what notes are about, behind the saves."""

from __future__ import annotations

from vaults.db.sql import Reader, Writer
from vaults.errors import EmbeddingUnavailable, Overloaded
from vaults.graph import entity_vectors
from vaults.graph.entity_vectors import BATCH, Waiting
from vaults.graph.graph import Graph
from vaults.graph.habits import body
from vaults.vault import Chore, Vault

PASSAGES = 3
"""First passages of a note that hold the beginning of its text, unless they are very short."""


async def embed(vault: Vault) -> None:
    """A chore. Where there is no model, what is owed stays owed. A text it has no vector for is not tried again before
    it changes."""
    if vault.shared.embedder.state().status in ("off", "failed", "hung"):
        return
    try:
        identity = await vault.shared.embedder.warm()
        while batch := await vault.db.read(lambda tx: _batch(tx, vault.atlas.at(tx), identity.key)):
            same = [each for each, text in batch if each.held == entity_vectors.hash_of(text)]
            anew = [(each, text) for each, text in batch if each.held != entity_vectors.hash_of(text)]
            rows = await vault.shared.embedder.each([text for _, text in anew], urgent=False)
            made = [
                (each, entity_vectors.hash_of(text), row.tobytes() if row is not None else b"")
                for (each, text), row in zip(anew, rows, strict=True)
            ]
            await vault.db.write_aside(lambda tx, same=same, made=made: _settle(tx, identity.key, same, made))  # type: ignore[misc]
            if (vault.shared.embedder.identity or identity) != identity:
                return  # another model came meanwhile: these are owed again
    except (EmbeddingUnavailable, Overloaded):
        return


def _settle(tx: Writer, model: str, same: list[Waiting], made: list[tuple[Waiting, str, bytes]]) -> None:
    entity_vectors.keep(tx, same)
    entity_vectors.put(tx, model, made)


def _batch(tx: Reader, graph: Graph, model: str) -> list[tuple[Waiting, str]]:
    """Notes that wait, with the texts that stand for them."""
    return [
        (each, entity_vectors.text_of(node, body(tx, each.note, PASSAGES)))
        for each in entity_vectors.waiting(tx, model, BATCH)
        if (node := graph.nodes.get(each.note)) is not None
    ]


EMBED = Chore(entity_vectors.owed, embed)
