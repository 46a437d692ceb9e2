"""Stores documents, makes them longer, removes them: rows and passages in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from uuid_utils import uuid7

from vaults import clock
from vaults.change_notes import ContentHash, told_hash
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.documents import indexing, reading
from vaults.domain.documents.document_model import (
    PART_FIELDS,
    Document,
    DocumentFields,
    DocumentPart,
    hash_document,
    hashed_fields,
    to_columns,
)
from vaults.domain.documents.part_runs import PartRun, cut_runs
from vaults.domain.memories import item_traces, lifecycle
from vaults.index import facets, sequence_passages
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document ready to be written, cut into passages. Parts are in order of their positions; ``hash``: as that of
    ``Document``."""

    fields: DocumentFields
    parts: tuple[DocumentPart, ...]
    runs: tuple[PartRun, ...]
    hash: str

    def with_fields(self, fields: DocumentFields) -> PreparedDocument:
        """The same parts under other fields, such as times. A book is not hashed again for them."""
        same = hashed_fields(fields) == hashed_fields(self.fields)
        return replace(self, fields=fields, hash=self.hash if same else hash_document(fields, self.parts))


def prepare(vault: Vault, fields: DocumentFields, parts: Sequence[DocumentPart]) -> PreparedDocument:
    """Cut the passages, and work out all else that needs no database. Pure; of two parts at one position the later
    counts."""
    ordered = tuple(sorted({part.position: part for part in parts}.values(), key=lambda part: part.position))
    runs = tuple(cut_runs(fields, ordered, vault.shared.index.passage_tokens))
    return PreparedDocument(fields, ordered, runs, hash_document(fields, ordered))


async def remove(vault: Vault, actor: Actor, ids: Sequence[str], reason: str | None) -> list[str]:
    """Delete documents of the caller's for good: rows, passages, vectors, words in the text index, and their bytes in
    the file. Of those that were let go before, copies and titles are erased; these are known by their ids alone. An
    audit row with ids and reason stays. Raises ``NotFound`` for an id that is not there, and then deletes none."""
    done = await remove_batch(vault, actor, ids, reason)
    await lifecycle.erase_purged(vault)
    return done


async def remove_batch(vault: Vault, actor: Actor, ids: Sequence[str], reason: str | None) -> list[str]:
    """``remove`` as one of many: their bytes in the files stay until ``lifecycle.erase_purged``."""
    await vault.disk.make_room()

    def delete(tx: Writer) -> list[str]:
        found = [_find_removable(tx, actor, each) for each in dict.fromkeys(ids)]
        done = [_delete(tx, actor, each, reason) for each in found]
        lifecycle.request_erasure(tx)
        return done

    return await vault.db.write(delete)


def _find_removable(tx: Reader, actor: Actor, ref: str) -> Document | str:
    """A document of the actor's, or the id of one that was let go. Raises ``NotFound``."""
    if item_traces.is_evicted_document(tx, ref, actor):
        return ref
    return reading.find_document(tx, actor, ref, own=True)


def _delete(tx: Writer, actor: Actor, document: Document | str, reason: str | None) -> str:
    """Delete a document, or what is left of one by its id; returns the id."""
    if isinstance(document, Document):
        drop(tx, document)
    document_id = document.id if isinstance(document, Document) else document
    item_traces.erase(tx, item_traces.DOCUMENT, document_id)
    tx.run(
        "INSERT INTO audit (at, who, action, target, reason) VALUES (:now, :who, 'purge', :id, :reason)",
        {"now": clock.now(), "who": actor.identity, "id": document_id, "reason": reason},
    )
    return document_id


def _told(document: Document) -> ContentHash:
    """What the audit is told of a document."""
    return told_hash(document.id, document.fields.visibility, document.hash)


def drop(tx: Writer, document: Document) -> None:
    """Delete a document and all that is derived of it, which its source has not any more."""
    sequence_passages.drop_sequence(tx, indexing.sequence_of(document))
    facets.store(tx, indexing.FACETS, document.seq, (), {})
    tx.run("DELETE FROM document_parts WHERE document = :seq", {"seq": document.seq})
    tx.run("DELETE FROM documents WHERE seq = :seq", {"seq": document.seq})
    tx.note_change("document", document.id, _told(document), None)


def detach(tx: Writer, seq: int) -> None:
    """Have whoever continues a document that is about to go begin a new one: it loses its external id, and no import
    knows it any more. The table of imports is that of ``vaults.domain.import_export.import_runs``."""
    tx.run(
        "DELETE FROM import_records WHERE kind = 'document'"
        " AND item = (SELECT json_array(id) FROM documents WHERE seq = :seq)",
        {"seq": seq},
    )
    tx.run("UPDATE documents SET external_id = NULL WHERE seq = :seq", {"seq": seq})


def remove_some(tx: Writer, kind: str, seq: int, most: int) -> bool:
    """Remove so many rows of a document: passages first, then parts, the document itself last; returns whether there is
    more to do. Until then it is there and found by less and less. The caller keeps the log."""
    if sequence_passages.drop_some(tx, indexing.name_sequence(kind, seq), most):
        return True
    gone = tx.run(
        "DELETE FROM document_parts WHERE seq IN (SELECT seq FROM document_parts WHERE document = :seq LIMIT :most)",
        {"seq": seq, "most": most},
    )
    if gone == most:
        return True
    facets.store(tx, indexing.FACETS, seq, (), {})
    for row in tx.all("SELECT id, visibility, hash FROM documents WHERE seq = :seq", {"seq": seq}):
        tx.note_change("document", row[0], told_hash(*row), None)
    tx.run("DELETE FROM documents WHERE seq = :seq", {"seq": seq})
    return False


def insert(vault: Vault, tx: Writer, actor: Actor, prepared: PreparedDocument) -> Document:
    """Write a new document with its passages, its vectors queued."""
    row = to_columns(prepared.fields) | {"id": str(uuid7()), "stored_by": actor.identity, "hash": prepared.hash}
    row["size"] = _count_characters(prepared.parts)
    seq = tx.insert(f"INSERT INTO documents ({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})", row)
    document = Document(seq, row["id"], actor.identity, prepared.hash, prepared.fields)
    tx.note_change("document", document.id, None, _told(document))
    _write_parts(tx, seq, prepared.parts)
    indexing.index(tx, document, vault.shared.index.passage_tokens, _model(vault), prepared.runs)
    return document


def replace_whole(vault: Vault, tx: Writer, known: Document, prepared: PreparedDocument) -> None:
    """Make a document what its source says now. Parts and passages that did not change are not written; passages whose
    text did not change keep their vectors."""
    row = to_columns(prepared.fields) | {"hash": prepared.hash, "size": _count_characters(prepared.parts)}
    sets = ", ".join(f"{name} = :{name}" for name in row)
    tx.run(f"UPDATE documents SET {sets} WHERE seq = :seq", row | {"seq": known.seq})
    kept = {part.position for part in prepared.parts}
    gone = [position for (position,) in tx.all(_POSITIONS, {"seq": known.seq}) if position not in kept]
    if known.fields.kind != prepared.fields.kind:
        sequence_passages.drop_sequence(tx, indexing.sequence_of(known))
    _write_parts(tx, known.seq, prepared.parts)
    document = replace(known, fields=prepared.fields, hash=prepared.hash)
    tx.note_change("document", known.id, _told(known), _told(document))
    indexing.index(tx, document, vault.shared.index.passage_tokens, _model(vault), prepared.runs)
    _delete_parts(tx, known.seq, gone)


def merge_metadata(tx: Writer, document: Document, values: Mapping[str, object]) -> None:
    """Set fields of a document's metadata; None removes one. What is searched of it stays as it is."""
    merged = {**document.fields.metadata, **values}
    kept = {name: value for name, value in merged.items() if value is not None}
    fields = to_columns(replace(document.fields, metadata=kept))
    tx.run(
        "UPDATE documents SET metadata = :metadata WHERE seq = :seq",
        {"metadata": fields["metadata"], "seq": document.seq},
    )
    facets.store(tx, indexing.FACETS, document.seq, (), kept)


def append(vault: Vault, tx: Writer, document: Document, parts: Sequence[DocumentPart]) -> int:
    """Add the parts at positions that are free; returns how many. Those that are there stay as they are."""
    there = {position for (position,) in tx.all(_POSITIONS, {"seq": document.seq})}
    new = [part for part in parts if part.position not in there]
    if not new:
        return 0
    _write_parts(tx, document.seq, new)
    first = min(part.position for part in new)
    _settle(vault, tx, document, first, max((part.at for part in new if part.at), default=None))
    return len(new)


_POSITIONS = "SELECT position FROM document_parts WHERE document = :seq"


def cut_after(vault: Vault, tx: Writer, document: Document, position: int, modified_at: str) -> None:
    """Remove the parts after a position: what was appended since."""
    later = [each for (each,) in tx.all(_POSITIONS, {"seq": document.seq}) if each > position]
    first = min(later, default=position + 1)
    _settle(vault, tx, document, first, modified_at, gone=later)


def _settle(
    vault: Vault, tx: Writer, document: Document, first: int, modified_at: str | None, gone: Sequence[int] = ()
) -> None:
    """Bring hash, time and passages up to date after parts from a position on came or went."""
    parts = [part for part in indexing.read_parts(tx, document.seq) if part.position not in set(gone)]
    later = modified_at if gone else max(filter(None, (modified_at, document.fields.modified_at)))
    fields = replace(document.fields, modified_at=later or document.fields.modified_at)
    digest = hash_document(fields, parts)
    tx.run(
        "UPDATE documents SET modified_at = :at, hash = :hash, size = :size WHERE seq = :seq",
        {"at": fields.modified_at, "hash": digest, "size": _count_characters(parts), "seq": document.seq},
    )
    changed = replace(document, fields=fields, hash=digest)
    tx.note_change("document", document.id, _told(document), _told(changed))
    limit, model = vault.shared.index.passage_tokens, _model(vault)
    _delete_parts(tx, document.seq, gone)
    if fields.kind == "document":  # each of its passages tells when it was changed
        indexing.index(tx, changed, limit, model)
    else:
        indexing.index_appended(tx, changed, first, limit, model)


def _count_characters(parts: Sequence[DocumentPart]) -> int:
    return sum(len(part.text) for part in parts)


def _write_parts(tx: Writer, seq: int, parts: Sequence[DocumentPart]) -> None:
    """Write parts: one at a position that is taken keeps its number, and is left alone if it says the same."""
    columns = ", ".join(PART_FIELDS)
    values = ", ".join(f":{name}" for name in PART_FIELDS)
    sets = ", ".join(f"{name} = excluded.{name}" for name in PART_FIELDS)
    differs = " OR ".join(f"{name} IS NOT excluded.{name}" for name in PART_FIELDS)
    rows: list[dict[str, Any]] = [
        {"document": seq, **{name: getattr(part, name) for name in PART_FIELDS}, "thinking": int(part.thinking)}
        for part in parts
    ]
    tx.many(
        f"INSERT INTO document_parts (document, {columns}) VALUES (:document, {values})"
        f" ON CONFLICT (document, position) DO UPDATE SET {sets} WHERE {differs}",
        rows,
    )


def _delete_parts(tx: Writer, seq: int, positions: Sequence[int]) -> None:
    tx.many(
        "DELETE FROM document_parts WHERE document = :seq AND position = :position",
        [{"seq": seq, "position": position} for position in positions],
    )


def _model(vault: Vault) -> str | None:
    model = vault.embedder.identity
    return model.key if model else None


def has_field(tx: Reader, viewer: str, name: str) -> bool:
    """Whether the metadata of a document the viewer may see has a field."""
    row = tx.one(
        "SELECT 1 FROM item_fields f JOIN documents d ON d.seq = f.item WHERE f.kind = :kind AND f.field = :name"
        " AND (d.visibility = 'shared' OR d.stored_by = :viewer) LIMIT 1",
        {"kind": indexing.FACETS, "name": name, "viewer": viewer},
    )
    return row is not None


def count_documents(tx: Reader, viewer: str | None) -> dict[str, int]:
    """How many of each kind the viewer may see; None: the operator at the machine, who sees all."""
    seen = "1 = 1" if viewer is None else "(visibility = 'shared' OR stored_by = :viewer)"
    rows = tx.all(f"SELECT kind, COUNT(*) FROM documents WHERE {seen} GROUP BY kind", {"viewer": viewer})
    return {kind: int(count) for kind, count in rows}
