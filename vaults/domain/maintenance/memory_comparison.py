"""Comparing memories with what is derived of each, a page at a time: one statement for all of a page's passages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from vaults.db.sql import Reader, Row
from vaults.domain.maintenance.disagreements import SOURCE_CHANGED, Disagreements
from vaults.domain.memories import indexing
from vaults.domain.memories.indexing import KIND, MemorySource
from vaults.index import facets, passages, text_index
from vaults.index.unspaced_scripts import to_pairs
from vaults.paces import WorkPace

PAGE = 200
"""Memories read at a time: the longest takes 50 KB."""

_COLUMNS = (
    "source_hash",
    *(name for name in passages.COLUMNS if name not in ("source_hash", "kind", "item", "place", "ordinal")),
)
_TITLE, _BODY, _LABELS = (_COLUMNS.index(name) for name in ("title", "body", "labels"))
_PASSAGES = (
    f"SELECT p.item, {text_index.pairs_column()}, {', '.join(f'p.{name}' for name in _COLUMNS)} FROM passages p"
    " WHERE p.kind = :kind AND p.item BETWEEN :first AND :last ORDER BY p.item, p.ordinal"
)
_TAGS = "SELECT item, tag FROM item_tags WHERE kind = :kind AND item BETWEEN :first AND :last"
_FIELDS = "SELECT item, field, value FROM item_fields WHERE kind = :kind AND item BETWEEN :first AND :last"


@dataclass(frozen=True, slots=True)
class MemorySpan:
    """The memories after one number, up to another, and how many these are."""

    after: int
    last: int
    count: int


def split(tx: Reader, size: int) -> list[MemorySpan]:
    """All memories, ``size`` at a time."""
    rows = tx.all(
        "SELECT MAX(seq), COUNT(*) FROM (SELECT seq, (ROW_NUMBER() OVER (ORDER BY seq) - 1) / :size AS part"
        " FROM memories) GROUP BY part ORDER BY part",
        {"size": size},
    )
    ends = [-1, *(int(last) for last, _ in rows)]
    return [MemorySpan(after, int(last), int(count)) for after, (last, count) in zip(ends, rows, strict=False)]


def compare_memories(tx: Reader, span: MemorySpan, passage_tokens: int, pace: WorkPace) -> Disagreements:
    """What disagrees in a span. Raises ``VaultQuarantined`` where a row cannot be read."""
    found, after = Disagreements(), span.after
    while page := [each for each in indexing.load_sources(tx, after, PAGE) if each.item.number <= span.last]:
        derived = _read_derived(tx, page)
        for source in pace(page):
            if codes := list(_compare(source, derived, passage_tokens)):
                memory_id = tx.value("SELECT id FROM memories WHERE seq = :seq", {"seq": source.item.number})
                found.add_item(str(memory_id), codes)
        after = page[-1].item.number
    return found


@dataclass(frozen=True, slots=True)
class _Derived:
    tags: dict[int, set[str]]
    fields: dict[int, set[tuple[str, str]]]
    passages: dict[int, list[Row]]


def _read_derived(tx: Reader, page: list[MemorySource]) -> _Derived:
    span = {"kind": KIND, "first": page[0].item.number, "last": page[-1].item.number}
    derived = _Derived(defaultdict(set), defaultdict(set), defaultdict(list))
    for item, tag in tx.all(_TAGS, span):
        derived.tags[item].add(tag)
    for item, field, value in tx.all(_FIELDS, span):
        derived.fields[item].add((field, value))
    for item, *row in tx.all(_PASSAGES, span):
        derived.passages[item].append(tuple(row))
    return derived


def _compare(source: MemorySource, derived: _Derived, passage_tokens: int) -> Iterator[str]:
    """Codes of what disagrees with one memory."""
    number = source.item.number
    if indexing.expected_hash(source) != source.item.source_hash:
        yield SOURCE_CHANGED
    expected_fields = set(facets.to_fields(source.metadata))
    if derived.tags.get(number, set()) != set(source.tags) or derived.fields.get(number, set()) != expected_fields:
        yield "tags_differ"
    stored = derived.passages.get(number, [])
    if not stored:
        yield "passages_missing"
    elif any(row[1] != source.item.source_hash for row in stored):
        yield "passages_stale"
    elif _passages_differ(source, stored, passage_tokens):
        yield "passages_differ"


def _passages_differ(source: MemorySource, stored: list[Row], passage_tokens: int) -> bool:
    for pairs, *row in stored:
        if to_pairs(f"{row[_TITLE]}\n{row[_BODY]}\n{row[_LABELS]}") != (pairs or ""):
            return True
    expected = [passage.columns() for passage in source.cut(passage_tokens)]
    shared = source.item.columns() | {"sequence": source.item.sequence(len(expected))}
    rows = [shared | columns for columns in expected]
    return [row[1:] for row in stored] != [tuple(row[name] for name in _COLUMNS) for row in rows]
