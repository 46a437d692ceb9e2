"""Keeping the vectors of what notes are about, behind the saves."""

from __future__ import annotations

from collections.abc import Sequence

from vaults.context import run_in
from vaults.db.sql import Reader, Writer
from vaults.errors import EmbeddingUnavailable, Overloaded, StrongroomError
from vaults.graph import entity_vectors
from vaults.graph.entity_vectors import BATCH, Waiting
from vaults.graph.note_graph import Graph, Node
from vaults.markdown.encoding import NotText, decode
from vaults.markdown.parser import skimmed
from vaults.vault import Chore, Vault

Batch = list[tuple[Waiting, str]]
"""Notes that wait, with the texts that stand for them."""


async def embed(vault: Vault) -> None:
    """A chore: some notes at a time, so that others and the vectors of passages have their turn between. Where there is
    no model, what is owed stays owed. A text it has no vector for is not tried again before it changes."""
    if vault.shared.embedder.state().status in ("off", "failed", "hung"):
        return
    try:
        model = (await vault.shared.embedder.warm()).key
        waiting = await vault.db.read(lambda tx: _waiting(tx, vault.atlas.at(tx), model))
        await _pay(vault, model, await run_in(vault.shared.pool, _texts, vault, waiting))
    except (EmbeddingUnavailable, Overloaded):
        return
    if len(waiting) == BATCH:
        vault.nudge()


async def _pay(vault: Vault, model: str, batch: Batch) -> None:
    same = [each for each, text in batch if each.held == entity_vectors.hash_of(text)]
    anew = [(each, text) for each, text in batch if each.held != entity_vectors.hash_of(text)]
    rows = await vault.shared.embedder.each([text for _, text in anew], urgent=False)
    made = [
        (each, entity_vectors.hash_of(text), row.tobytes() if row is not None else b"")
        for (each, text), row in zip(anew, rows, strict=True)
    ]

    def settle(tx: Writer) -> None:
        entity_vectors.keep(tx, same)
        entity_vectors.put(tx, model, made)

    await vault.db.write_aside(settle)


def _waiting(tx: Reader, graph: Graph, model: str) -> list[tuple[Waiting, Node]]:
    several = entity_vectors.waiting(tx, model, BATCH)
    return [(each, node) for each in several if (node := graph.nodes.get(each.note)) is not None]


def _texts(vault: Vault, waiting: Sequence[tuple[Waiting, Node]]) -> Batch:
    return [(each, entity_vectors.text_of(node, _body(vault, node.path))) for each, node in waiting]


def _body(vault: Vault, path: str) -> str:
    """What a note says after its frontmatter; nothing where it cannot be read, which whoever indexes it will notice."""
    try:
        text = decode(vault.notes.tree.read(path, vault.notes.settings.max_note).data).text
    except (StrongroomError, NotText):
        return ""
    return text[skimmed(text).body_start :]


EMBED = Chore(entity_vectors.owed, embed)
