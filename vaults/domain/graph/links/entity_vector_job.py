"""Keeping the vectors of notes as entities up to date, in the background."""

from __future__ import annotations

from collections.abc import Sequence

from vaults.context import run_in
from vaults.db.sql import Reader, Writer
from vaults.embed.service import EmbeddingService
from vaults.errors import EmbeddingUnavailable, Overloaded, StrongroomError
from vaults.graph import entity_vectors
from vaults.graph.entity_vectors import BATCH, UnembeddedNote
from vaults.graph.note_graph import Graph, Node
from vaults.markdown.encoding import NotText, decode
from vaults.markdown.parser import parse_outline
from vaults.vault import BackgroundJob, Vault

VectorBatch = list[tuple[UnembeddedNote, str]]
"""Notes without a current vector, with the texts to embed."""


async def backfill_entity_vectors(vault: Vault) -> None:
    """A background job: embeds one batch of notes, so that other jobs and passages get their turn in between. Without a
    model, the notes stay pending. A text that the model cannot embed is not retried until it changes."""
    embedder = vault.embedder
    if embedder.state().status in ("off", "failed", "hung"):
        return
    try:
        model = (await embedder.warm()).key
        waiting = await vault.db.read(lambda tx: _read_batch(tx, vault.graph_cache.at(tx), model))
        await _backfill_batch(vault, embedder, model, await run_in(vault.shared.pool, _compose_texts, vault, waiting))
    except (EmbeddingUnavailable, Overloaded):
        return
    if len(waiting) == BATCH:
        vault.start_background_work()


async def _backfill_batch(vault: Vault, embedder: EmbeddingService, model: str, batch: VectorBatch) -> None:
    same = [each for each, text in batch if each.held == entity_vectors.hash_text(text)]
    anew = [(each, text) for each, text in batch if each.held != entity_vectors.hash_text(text)]
    rows = await embedder.each([text for _, text in anew], urgent=False)
    vectors = [
        (each, entity_vectors.hash_text(text), row.tobytes() if row is not None else b"")
        for (each, text), row in zip(anew, rows, strict=True)
    ]

    def write(tx: Writer) -> None:
        entity_vectors.confirm_vectors(tx, same)
        entity_vectors.store_vectors(tx, model, vectors)

    await vault.db.write_uncounted(write)


def _read_batch(tx: Reader, graph: Graph, model: str) -> list[tuple[UnembeddedNote, Node]]:
    several = entity_vectors.read_unembedded(tx, model, BATCH)
    return [(each, node) for each in several if (node := graph.nodes.get(each.note)) is not None]


def _compose_texts(vault: Vault, waiting: Sequence[tuple[UnembeddedNote, Node]]) -> VectorBatch:
    return [(each, entity_vectors.compose_text(node, _read_body(vault, node.path))) for each, node in waiting]


def _read_body(vault: Vault, path: str) -> str:
    """A note's text after its frontmatter; '' if it cannot be read, which the index will notice."""
    try:
        text = decode(vault.notes.tree.read(path, vault.notes.settings.max_note).data).text
    except (StrongroomError, NotText):
        return ""
    return text[parse_outline(text).body_start :]


BACKFILL_ENTITY_VECTORS = BackgroundJob("backfill_entity_vectors", entity_vectors.is_due, backfill_entity_vectors)
