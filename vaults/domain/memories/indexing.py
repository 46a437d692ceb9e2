"""From a memory's row to what is searched: its item, passages, tags and fields. All indexing of memories goes this
way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from vaults.db.failures import damaged_error
from vaults.db.sql import Reader, Row, Writer
from vaults.domain.text.fields import hash_parts
from vaults.domain.text.titles import derive_title
from vaults.index import embeddings, facets, passages, text_index
from vaults.index.items import SearchItem
from vaults.index.passages import Passage

KIND = "memory"

ORPHANED = (
    "NOT (x.kind = 'memory' AND EXISTS (SELECT 1 FROM memories m WHERE m.seq = x.item)"
    " OR x.kind = 'note' AND EXISTS (SELECT 1 FROM notes n WHERE n.seq = x.item)"
    " OR x.kind = 'documents' AND EXISTS (SELECT 1 FROM documents d WHERE d.seq = x.item)"
    " OR x.kind IN ('document', 'transcript', 'code') AND EXISTS (SELECT 1 FROM document_parts q WHERE q.seq = x.item))"
)
"""True of a row ``x`` that names an item which is gone."""


@dataclass(frozen=True, slots=True)
class MemorySource:
    """A memory as the indexes read it. ``title`` is empty when it only repeats the content."""

    item: SearchItem
    title: str
    content: str
    labels: list[str]
    tags: list[str]
    metadata: dict[str, Any]

    def cut(self, passage_tokens: int) -> list[Passage]:
        """Its passages."""
        return passages.cut_passages(self.title, self.content, self.labels, passage_tokens)


_SELECT = (
    "SELECT m.seq, m.title, m.title_derived, m.content, m.content_hash, m.tags, m.keywords, m.metadata, m.entity,"
    " m.author, m.stored_by, m.visibility, m.archived_at IS NOT NULL OR m.superseded_by IS NOT NULL, m.expires_at,"
    " m.workspace, m.type, m.tier, m.thread, m.applies_to, m.parent, m.position, COALESCE(m.occurred_at, m.created_at),"
    " m.updated_at FROM memories m"
)


def load_source(tx: Reader, seq: int) -> MemorySource:
    """The memory with this ``seq``, which must exist."""
    row = tx.one(f"{_SELECT} WHERE m.seq = :seq", {"seq": seq})
    assert row is not None
    return _from_row(row)


def load_sources(tx: Reader, after: int, limit: int) -> list[MemorySource]:
    """The next memories by ``seq``. Raises ``VaultQuarantined`` for a row that was damaged."""
    rows = tx.all(f"{_SELECT} WHERE m.seq > :after ORDER BY m.seq LIMIT :limit", {"after": after, "limit": limit})
    return [_from_row(row) for row in rows]


def _from_row(row: Row) -> MemorySource:
    (
        seq, title, derived, content, content_hash, tags, keywords, metadata, entity, author, stored_by, visibility,
        hidden, expires_at, workspace, kind_of, tier, thread, applies_to, parent, position, at, modified_at,
    ) = row  # fmt: skip
    try:
        tags, keywords, metadata = json.loads(tags), json.loads(keywords), json.loads(metadata)
    except ValueError:  # it was stored as JSON
        raise damaged_error() from None
    item = SearchItem(
        kind=KIND,
        number=int(seq),
        source_hash=content_hash,
        at=at,
        modified_at=modified_at,
        workspace=workspace,
        hidden=bool(hidden),
        owner=stored_by if visibility == "private" else None,
        expires_at=expires_at,
        type=kind_of,
        tier=tier,
        thread=thread,
        applies_to=applies_to,
        parent=parent,
        position=position,
        author=author,
        entity=entity,
    )
    labels = to_labels(tags, keywords, entity, author)
    return MemorySource(
        item=item,
        title="" if derived else title,
        content=content,
        labels=labels,
        tags=tags,
        metadata=metadata,
    )


def to_labels(tags: Sequence[str], keywords: Sequence[str], entity: str | None, author: str) -> list[str]:
    """Words a memory is found by besides its text."""
    return [*tags, *keywords, entity or "", author]


def content_hash(title: str, content: str, labels: Sequence[str]) -> str:
    """A digest of what a memory's passages are cut from."""
    return hash_parts(title, content, labels)


def expected_hash(source: MemorySource) -> str:
    """The digest this memory should have stored."""
    return content_hash(source.title or derive_title(source.content), source.content, source.labels)


def index(
    tx: Writer, source: MemorySource, cut: Sequence[Passage], vectors: Sequence[bytes] | None, model: str | None
) -> bool:
    """Make ``cut`` the memory's passages, with vectors given, already known or queued; returns whether all have theirs
    now."""
    numbers = passages.store(tx, source.item, cut)
    facets.store(tx, KIND, source.item.number, source.tags, source.metadata)
    texts = dict(zip(numbers, (passage.text_hash for passage in cut), strict=True))
    if model is not None and vectors is None:
        for number in embeddings.find_current(tx, model, numbers):
            del texts[number]
    return _store_vectors(tx, texts, vectors, model)


def index_new(
    tx: Writer, source: MemorySource, cut: Sequence[Passage], vectors: Sequence[bytes] | None, model: str | None
) -> bool:
    """``index`` for a memory that was just written: nothing of it can be there."""
    numbers = passages.store_new(tx, source.item, cut)
    facets.add(tx, KIND, source.item.number, source.tags, source.metadata)
    texts = dict(zip(numbers, (passage.text_hash for passage in cut), strict=True))
    return _store_vectors(tx, texts, vectors, model)


@dataclass(frozen=True, slots=True)
class NewMemories:
    """Memories that a transaction has written, to be indexed together, which costs a third. Whoever looks at passages
    or changes one calls ``index`` before."""

    waiting: list[tuple[MemorySource, Sequence[Passage]]] = field(default_factory=list)

    def add(self, tx: Writer, source: MemorySource, cut: Sequence[Passage], model: str | None) -> None:
        """Take a memory that was just written. One with neighbours is indexed at once: it changes theirs."""
        if source.item.sequence(len(cut)) is None:
            self.waiting.append((source, cut))
            return
        self.index(tx, model)
        index_new(tx, source, cut, None, model)

    def index(self, tx: Writer, model: str | None) -> None:
        """Index those that wait."""
        if not self.waiting:
            return
        cut = [passage for _, some in self.waiting for passage in some]
        numbers = passages.reserve_numbers(tx, len(cut))
        rows = [row for source, some in self.waiting for row in passages.to_new_rows(source.item, some)]
        passages.insert_rows(tx, numbers, rows)
        for number, passage, row in zip(numbers, cut, rows, strict=True):
            text_index.add_pairs(tx, number, passage.grams, row["owner"])
        facets.add_all(tx, KIND, [(source.item.number, source.tags, source.metadata) for source, _ in self.waiting])
        texts = dict(zip(numbers, (passage.text_hash for passage in cut), strict=True))
        _store_vectors(tx, texts, None, model)
        self.waiting.clear()


def _store_vectors(tx: Writer, texts: dict[int, str], vectors: Sequence[bytes] | None, model: str | None) -> bool:
    """Store or queue the vectors of passages, by the digests of their texts; returns whether all have theirs now."""
    if model is None:
        embeddings.enqueue(tx, list(texts))
        return False
    if vectors is None:
        by_text = embeddings.find_by_hash(tx, model, list(texts.values()))
    else:
        by_text = dict(zip(texts.values(), vectors, strict=True))
    embeddings.store(tx, model, [(number, text, by_text[text]) for number, text in texts.items() if text in by_text])
    missing = [number for number, text in texts.items() if text not in by_text]
    embeddings.enqueue(tx, missing)
    return not missing


def refresh_passages(tx: Writer, seq: int) -> None:
    """Copy the state of a memory's row to its passages after it was archived, superseded, or made findable again."""
    passages.update_columns(tx, load_source(tx, seq).item)
