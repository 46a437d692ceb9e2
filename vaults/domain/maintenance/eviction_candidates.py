"""Transcripts, documents and memories by last use, page by page, each with what keeps it from going.

Documents that were read from the files of a collection are none: they are derived, and go with the collection.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

from vaults import clock
from vaults.db.sql import Reader, Row, bind_list
from vaults.domain.documents import indexing as document_indexing
from vaults.domain.maintenance.eviction_plan import EvictionCandidate
from vaults.domain.memories import indexing as memory_indexing
from vaults.index import text_index
from vaults.index.shelves import MAIN
from vaults.markdown.link_resolution import name_key
from vaults.settings import EvictableKind

PINNED = "pinned"
"""The tag, of a memory or in the metadata of a document; a field ``pinned`` of that is as good."""

PAGE = 100
LEAST_NAMED = 6
"""Characters from which an address counts as named where it stands inside other text."""

UUID_VERSION = 7


@dataclass(frozen=True, slots=True)
class CandidateCursor:
    """How far a stage was read: up to this use, and this number."""

    used: str = ""
    seq: int = 0


def read_page(
    tx: Reader, kinds: Sequence[EvictableKind], after: CandidateCursor
) -> tuple[list[EvictionCandidate], CandidateCursor | None]:
    """The next items of these kinds, the least recently used first, and where the next page begins; None: there is
    none."""
    rows = [row for kind in kinds for row in _read_rows(tx, kind, after)]
    rows.sort(key=lambda row: (row[_USED], row[_SEQ]))
    page = rows[:PAGE]
    if not page:
        return [], None
    named = _named_in_work(tx)
    found = [replace(_to_candidate(row), pin=_find_pin(tx, row, named)) for row in page]
    return found, CandidateCursor(str(page[-1][_USED]), int(page[-1][_SEQ]))


USED = "MAX(d.modified_at, COALESCE(d.used_at, ''))"
"""When a document was last used, as the index ``documents_by_use`` has it."""

_AFTER = "{used} >= :used AND ({used} > :used OR {seq} > :seq)"

_DOCUMENTS = (
    f"SELECT d.kind, d.seq, d.id, d.title, d.size, {USED} AS used, CASE d.visibility WHEN 'private' THEN d.stored_by"
    " END, d.uri, d.external_id, NULL FROM documents d"
    f" WHERE d.kind = :kind AND {_AFTER.format(used=USED, seq='d.seq')}"
    " AND (d.collection IS NULL OR d.collection NOT IN (SELECT name FROM collections))"
    " AND NOT EXISTS (SELECT 1 FROM collection_files f WHERE f.document = d.seq)"
    f" ORDER BY {USED}, d.seq LIMIT {PAGE}"
)

_MEMORY_USED = "MAX(m.updated_at, COALESCE(a.accessed_at, ''))"

# What something superseded goes after that: it would be found again without what took its place.
_MEMORIES = (
    f"SELECT 'memory', m.seq, m.id, m.title, LENGTH(m.content), {_MEMORY_USED} AS used, CASE m.visibility WHEN"
    " 'private' THEN m.stored_by END, NULL, m.external_id, m.tier FROM memories m"
    " LEFT JOIN memory_accesses a ON a.memory = m.seq"
    f" WHERE :kind = 'memory' AND {_AFTER.format(used=_MEMORY_USED, seq='m.seq')}"
    " AND NOT EXISTS (SELECT 1 FROM memories o WHERE o.superseded_by = m.id)"
    f" ORDER BY {_MEMORY_USED}, m.seq LIMIT {PAGE}"
)

_KIND, _SEQ, _ID, _TITLE, _SIZE, _USED, _OWNER, _URI, _EXTERNAL, _TIER = range(10)


def _read_rows(tx: Reader, kind: EvictableKind, after: CandidateCursor) -> list[Row]:
    statement = _MEMORIES if kind == "memory" else _DOCUMENTS
    return tx.all(statement, {"kind": kind, "used": after.used, "seq": after.seq})


def _to_candidate(row: Row) -> EvictionCandidate:
    return EvictionCandidate(
        kind=row[_KIND],
        seq=int(row[_SEQ]),
        id=row[_ID],
        title=row[_TITLE],
        size=int(row[_SIZE]),
        used=row[_USED],
        stored=stored_at(row[_ID]) or row[_USED],
        owner=row[_OWNER],
    )


def stored_at(item_id: str) -> str | None:
    """When an item came into the vault, which its id tells; None for an id that is not ours."""
    try:
        made = UUID(item_id)
    except ValueError:
        return None
    if made.version != UUID_VERSION:
        return None
    return clock.to_text(datetime.fromtimestamp((made.int >> 80) / 1000, UTC))


def is_unchanged(tx: Reader, candidate: EvictionCandidate) -> bool:
    """Whether an item is still as it was when it was chosen: nobody opened it, changed it or took it away."""
    if candidate.kind == "memory":
        row = tx.one(
            f"SELECT {_MEMORY_USED}, LENGTH(m.content) FROM memories m LEFT JOIN memory_accesses a ON a.memory = m.seq"
            " WHERE m.seq = :seq",
            {"seq": candidate.seq},
        )
    else:
        row = tx.one(f"SELECT {USED}, d.size FROM documents d WHERE d.seq = :seq", {"seq": candidate.seq})
    return row == (candidate.used, candidate.size)


def _find_pin(tx: Reader, row: Row, named: Sequence[str]) -> str | None:
    """Why an item stays; None where nothing keeps it."""
    if _is_tagged(tx, row):
        return "tagged pinned"
    if row[_TIER] == "hot":
        return "tier hot"
    names = [name for name in (row[_ID], row[_URI], row[_EXTERNAL]) if name]
    if _is_named(names, named):
        return "named by an open handoff or a claim"
    return "linked from a note" if _is_linked(tx, row, names) else None


def _is_tagged(tx: Reader, row: Row) -> bool:
    kind = memory_indexing.KIND if row[_KIND] == "memory" else document_indexing.FACETS
    key = {"kind": kind, "item": row[_SEQ], "tag": PINNED}
    return bool(
        tx.one("SELECT 1 FROM item_tags WHERE kind = :kind AND item = :item AND lower(tag) = :tag", key)
        or tx.one(
            "SELECT 1 FROM item_fields WHERE kind = :kind AND item = :item AND (field = 'tags' AND value = :tag"
            " OR field = :tag AND value NOT IN ('false', 'no', '0', ''))",
            key,
        )
    )


def _named_in_work(tx: Reader) -> list[str]:
    """What open handoffs and claims say, a text each."""
    fields = "goal", "current_state", "next_action", "constraints", "known_unknowns", "artifacts", "claims"
    rows = tx.all(
        f"SELECT {', '.join(fields)}, stop_conditions FROM handoffs"
        " WHERE accepted_by IS NULL AND (expires_at IS NULL OR expires_at > :now)",
        {"now": clock.now()},
    )
    said = [text for row in rows for text in _texts(row)]
    return [*said, *(resource for (resource,) in tx.all("SELECT resource FROM claims"))]


def _texts(row: Row) -> Iterable[str]:
    for text in row:
        if text.startswith("["):
            yield from map(str, json.loads(text))
        else:
            yield text


def _is_named(names: Sequence[str], texts: Sequence[str]) -> bool:
    inside = [name for name in names if len(name) >= LEAST_NAMED]
    return any(text in names or any(name in text for name in inside) for text in texts)


def _is_linked(tx: Reader, row: Row, names: Sequence[str]) -> bool:
    """Whether a note links to it, by its title or an address of its, or names its id."""
    keys, params = bind_list("key", sorted({name_key(name) for name in (*names, row[_TITLE])} - {""}))
    if tx.one(f"SELECT 1 FROM note_links WHERE target_key IN ({keys}) AND meant IS NULL LIMIT 1", params):
        return True
    # An address such as document://… is no link of the graph's, but stands in the note's text.
    phrase = '"' + str(row[_ID]).replace('"', '""') + '"'
    return bool(text_index.find_passages(tx, MAIN, phrase, "p.kind = 'note'", {}))
