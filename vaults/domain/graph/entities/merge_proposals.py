"""Proposing merges of entities, and remembering dismissed proposals."""

from __future__ import annotations

from typing import Literal

from vaults.change_notes import ContentHash
from vaults.context import run_in
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.graph.entities import entity_lookup
from vaults.domain.graph.entities.duplicates import MIN_COSINE, MergeCandidate, NearNotes, find_duplicates
from vaults.domain.graph.entities.entity_lists import Entity, iter_entities
from vaults.domain.graph.entities.known_names import KnownNames, read_known_names
from vaults.domain.text.fields import hash_parts
from vaults.domain.text.sanitize import to_one_line
from vaults.errors import Conflict, InvalidArgument, NotFound
from vaults.graph.entity_vectors import VectorMatrix
from vaults.graph.link_feedback import dismissals
from vaults.graph.links import unresolved_names
from vaults.graph.note_graph import Graph
from vaults.markdown.link_resolution import fold_name, name_key
from vaults.vault import Vault

MAX_ENTITIES = 20_000
"""Max entities that are compared, those with notes first."""

MAX_COMPARED, BATCH_ROWS = 4_000, 256
"""Max notes compared pairwise by meaning, and how many at a time."""

MAX_NEAR = 20
"""Max notes near one in meaning: beyond that, nearness says nothing."""


async def propose_merges(
    vault: Vault, actor: Actor, entity: str | None, limit: int
) -> tuple[list[MergeCandidate], int]:
    """Pairs that may be one thing, and their total number; only those with ``entity`` if given. Raises ``Conflict`` for
    a name of several notes, ``NotFound``."""
    path = await entity_lookup.find_note_path(vault, entity) if entity is not None else None

    def read(tx: Reader) -> tuple[KnownNames, VectorMatrix, frozenset[tuple[str, str]]]:
        return read_known_names(tx, vault, actor), vault.graph_cache.suggestions.matrix(tx), dismissals.read_merges(tx)

    found, matrix, dismissed = await vault.db.read(read)
    several = await run_in(vault.shared.pool, lambda: list(iter_entities(found))[:MAX_ENTITIES])
    if entity is not None and not any(_is_entity(each, entity, path) for each in several):
        raise NotFound(f"no entity {to_one_line(entity)}", hint="action list shows what there is")
    near = await run_in(vault.shared.pool, find_near_notes, found.graph, matrix)
    proposed = await run_in(vault.shared.pool, find_duplicates, several, near, dismissed)
    if entity is not None:
        proposed = [
            each for each in proposed if _is_entity(each.one, entity, path) or _is_entity(each.into, entity, path)
        ]
    return proposed[:limit], len(proposed)


def find_near_notes(graph: Graph, matrix: VectorMatrix) -> NearNotes:
    """By path: other notes near in meaning. Empty for a vault with more than ``MAX_COMPARED`` notes; without notes that
    are near to very many, for those come from one template."""
    rows, found = matrix.rows, dict[str, list[tuple[str, float]]]()
    if rows is None or len(matrix.notes) > MAX_COMPARED:
        return found
    for start in range(0, len(matrix.notes), BATCH_ROWS):
        for place, cosines in enumerate(rows[start : start + BATCH_ROWS] @ rows.T, start):
            close = [other for other in (cosines >= MIN_COSINE).nonzero()[0] if other != place]
            node = graph.nodes.get(matrix.notes[place])
            if node is not None and 0 < len(close) <= MAX_NEAR:
                others = [(graph.nodes.get(matrix.notes[other]), float(cosines[other])) for other in close]
                found[node.path] = [(other.path, min(1.0, cosine)) for other, cosine in others if other is not None]
    return found


def _is_entity(entity: Entity, name: str, path: str | None) -> bool:
    return entity.path == path if path is not None else fold_name(entity.name) == fold_name(name)


async def dismiss_merge(vault: Vault, actor: Actor, names: tuple[str, str], *, undo: bool) -> bool:
    """Stop proposing a merge, or allow it again; returns whether that changed anything. Raises ``InvalidArgument`` if
    both are the same entity, ``NotFound`` for an unknown one."""
    vault.check_writable()
    for each in () if undo else names:
        await _check_known(vault, actor, each)
    keys = [await _find_key(vault, each) for each in names]
    if keys[0] == keys[1] and names[0] == names[1]:
        raise InvalidArgument("into", "must be another entity")
    return await _set_dismissed(vault, actor, "merge", (keys[0], keys[1]), undo=undo)


async def _check_known(vault: Vault, actor: Actor, name: str) -> None:
    """Raise ``NotFound`` for an unknown entity. Dismissals are kept for good, so unused names would pile up."""
    try:
        if await entity_lookup.find_note_path(vault, name) is not None:
            return
    except Conflict:
        return
    found = await vault.db.read(lambda tx: read_known_names(tx, vault, actor))
    if not await run_in(vault.shared.pool, lambda: any(_is_entity(each, name, None) for each in iter_entities(found))):
        raise NotFound(f"no entity {to_one_line(name)}", hint="action list shows what there is")


async def _find_key(vault: Vault, name: str) -> str:
    """The key of an entity's name: of its note's title if it has a note."""
    try:
        path = await entity_lookup.find_note_path(vault, name)
    except Conflict:  # several notes with this name share its key
        path = None
    title = await vault.db.read(lambda tx: tx.value("SELECT title FROM notes WHERE path = :path", {"path": path}))
    return name_key(str(title or name))


async def dismiss_prospect(vault: Vault, actor: Actor, name: str, *, undo: bool) -> bool:
    """Stop listing a name without a note, or list it again; returns whether that changed anything. Raises ``NotFound``
    for a name without links."""
    vault.check_writable()
    key = name_key(name)

    def is_known(tx: Reader) -> bool:
        return key in dismissals.read_prospects(tx) or any(
            each.key == key for each in unresolved_names.read_unresolved(tx, MAX_ENTITIES)
        )

    if not await vault.db.read(is_known):
        raise NotFound(f"no link leads to {to_one_line(name)} without a note", hint="kind: prospect lists such names")
    return await _set_dismissed(vault, actor, "prospect", (key, ""), undo=undo)


async def _set_dismissed(
    vault: Vault, actor: Actor, kind: Literal["merge", "prospect"], keys: tuple[str, str], *, undo: bool
) -> bool:
    before, after = ("dismissed", None) if undo else (None, "dismissed")

    def write(tx: Writer) -> bool:
        done = dismissals.restore(tx, kind, keys) if undo else dismissals.dismiss(tx, kind, keys, actor.identity)
        if done:
            tx.note_change(f"dismissed {kind}", ContentHash(hash_parts(*keys)), before, after)
        return done

    return await vault.db.write(write)
