"""From a document's rows to what is searched: each run of parts is an item, the document is its parent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vaults.db.sql import Reader, Writer
from vaults.domain.documents.document_model import (
    COLUMNS,
    PART_COLUMNS,
    TRANSCRIPT,
    Document,
    DocumentPart,
    from_row,
    hash_document,
    part_from_row,
)
from vaults.domain.documents.part_runs import PartRun, cut_runs
from vaults.index import embeddings, facets, passage_updates, passages, sequence_passages, text_index
from vaults.index.items import SearchItem
from vaults.index.neighbours import DOCUMENT_PREFIX
from vaults.index.sequence_passages import PassageRow
from vaults.index.shelves import shelf_of

FACETS = "documents"
"""The kind under which a document's fields are filtered by: one row for all its parts."""


def sequence_of(document: Document) -> str:
    """The sequence of a document's passages. Those of a transcript carry the text around them, as turns of a
    conversation do; those of other documents have headings, as those of notes do."""
    return name_sequence(document.fields.kind, document.seq)


def name_sequence(kind: str, seq: int) -> str:
    """The sequence of the passages of a document of this kind and number."""
    return f"transcript::{seq}" if kind == TRANSCRIPT else f"{DOCUMENT_PREFIX}{seq}"


def read_document(tx: Reader, seq: int) -> Document:
    """The document with this ``seq``, which must exist."""
    row = tx.one(f"SELECT {COLUMNS} FROM documents d WHERE d.seq = :seq", {"seq": seq})
    assert row is not None
    return from_row(row)


def read_parts(tx: Reader, seq: int, first: int = 0, last: int | None = None) -> list[DocumentPart]:
    """A document's parts in order, from a position on, up to another."""
    rows = tx.all(
        f"SELECT {PART_COLUMNS} FROM document_parts q WHERE q.document = :seq AND q.position >= :first"
        " AND (:last IS NULL OR q.position <= :last) ORDER BY q.position",
        {"seq": seq, "first": first, "last": last},
    )
    return [part_from_row(row) for row in rows]


def index(
    tx: Writer, document: Document, max_tokens: int, model: str | None, runs: Sequence[PartRun] | None = None
) -> bool:
    """Make passages of the whole document, with vectors already known or queued; returns whether any is missing.
    ``runs``: if they are cut already."""
    facets.store(tx, FACETS, document.seq, (), document.fields.metadata)
    return _index_from(tx, document, 0, max_tokens, model, runs)


def rebuild(tx: Writer, document: Document, max_tokens: int, model: str | None) -> None:
    """Make everything derived of a document anew."""
    digest = hash_document(document.fields, read_parts(tx, document.seq))
    tx.run("UPDATE documents SET hash = :hash WHERE seq = :seq", {"hash": digest, "seq": document.seq})
    index(tx, document, max_tokens, model)


def index_appended(tx: Writer, document: Document, position: int, max_tokens: int, model: str | None) -> bool:
    """As ``index``, where only the parts from a position on are new: passages of earlier parts stay as they are, but
    for the last, which may take on small turns."""
    begins = tx.value(
        "SELECT MAX(place) FROM passages WHERE sequence = :sequence AND place < :position",
        {"sequence": sequence_of(document), "position": position},
    )
    return _index_from(tx, document, int(begins or 0), max_tokens, model, None)


def _index_from(
    tx: Writer, document: Document, first: int, max_tokens: int, model: str | None, runs: Sequence[PartRun] | None
) -> bool:
    if runs is None:
        runs = cut_runs(document.fields, read_parts(tx, document.seq, first), max_tokens)
    rows = to_rows(document, runs, _read_numbers(tx, document.seq, first))
    kept = embeddings.find_in_sequence(tx, model, sequence_of(document)) if model and first == 0 else {}
    new = sequence_passages.replace_tail(tx, sequence_of(document), first, rows)
    return passage_updates.embed_or_enqueue(tx, model, new, kept)


def _read_numbers(tx: Reader, seq: int, first: int) -> dict[int, int]:
    """The ``seq`` of parts by position."""
    where = "document = :seq AND position >= :first"
    return dict(tx.all(f"SELECT position, seq FROM document_parts WHERE {where}", {"seq": seq, "first": first}))


def to_rows(document: Document, runs: Sequence[PartRun], numbers: Mapping[int, int]) -> list[PassageRow]:
    """The rows of passages. ``numbers``: the ``seq`` of parts by position."""
    rows: list[PassageRow] = []
    for run in runs:
        first = run.parts[0]
        item = _to_item(document, run, numbers[first.position])
        shared = item.columns() | {"kind": item.kind, "item": item.number}
        shared |= {"sequence": sequence_of(document), "place": first.position}
        rows += [
            {**shared, **passage.columns(), "ordinal": ordinal, "pairs": passage.grams}
            for ordinal, passage in enumerate(run.passages)
        ]
    return rows


def _to_item(document: Document, run: PartRun, number: int) -> SearchItem:
    fields, first = document.fields, run.parts[0]
    at = first.at or fields.created_at
    return SearchItem(
        kind=fields.kind,
        number=number,
        source_hash=run.digest,
        at=at,
        modified_at=at if fields.kind == TRANSCRIPT else fields.modified_at,
        workspace=fields.workspace,
        owner=document.stored_by if fields.visibility == "private" else None,
        type=to_type(fields.kind, first),
        thread=fields.thread,
        collection=fields.collection,
        parent=document.id,
        position=first.position,
        author=_person(first, fields.author),
    )


def to_type(kind: str, part: DocumentPart) -> str:
    """What a part is, as hits say it: reasoning, or by whom it is."""
    return "thinking" if part.thinking else part.role or kind


def _person(part: DocumentPart, author: str | None) -> str | None:
    """Who is named as its author: a person. Questions about a program or a "user" would be taken to name who spoke."""
    named = part.author or author
    return None if named is None or part.role in _PROGRAMS or named.casefold() in _NOBODY else named


_PROGRAMS = frozenset({"assistant", "tool", "system"})
_NOBODY = frozenset({"user", "human", "me", "you", "unknown"})


def find_disagreeing(tx: Reader, document: Document, max_tokens: int) -> list[str]:
    """What is wrong with what is derived of a document, as codes of ``verify``."""
    parts = read_parts(tx, document.seq)
    wrong = [] if hash_document(document.fields, parts) == document.hash else ["source_changed"]
    if facets.has_changed(tx, FACETS, document.seq, (), document.fields.metadata):
        wrong.append("tags_differ")
    expected = to_rows(document, cut_runs(document.fields, parts, max_tokens), _read_numbers(tx, document.seq, 0))
    names, shelf = passages.COLUMNS, shelf_of(document.fields.kind)
    stored = tx.all(
        f"SELECT {', '.join(names)}, {text_index.pairs_column(shelf)} FROM passages p WHERE p.sequence = :sequence"
        " ORDER BY p.place, p.item, p.ordinal",
        {"sequence": sequence_of(document)},
    )
    if expected and not stored:
        wrong.append("passages_missing")
    elif stored != [(*(row[name] for name in names), row["pairs"] or None) for row in expected]:
        wrong.append("passages_differ")
    return wrong


def read_page(tx: Reader, after: int, limit: int) -> list[Document]:
    """The next documents by ``seq``."""
    rows = tx.all(
        f"SELECT {COLUMNS} FROM documents d WHERE d.seq > :after ORDER BY d.seq LIMIT :limit",
        {"after": after, "limit": limit},
    )
    return [from_row(row) for row in rows]
