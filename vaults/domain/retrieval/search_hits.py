"""From ranked passages to hits: the row behind each passage, the part that matched, the score and its reasons."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from vaults.db.sql import Reader
from vaults.domain.actors import GLOBAL
from vaults.domain.collections.file_places import FilePlaces, is_of_collection, read_file_places
from vaults.domain.documents import document_model
from vaults.domain.documents.document_model import TRANSCRIPT, Document, DocumentPart
from vaults.domain.documents.indexing import to_type
from vaults.domain.documents.reading import describe_place, to_reference
from vaults.domain.memories import memory_model
from vaults.domain.notes.index import note_rows
from vaults.domain.notes.index.extraction import type_of
from vaults.domain.notes.index.note_rows import NoteSummary
from vaults.index.blocks import SEPARATOR
from vaults.search.filters import SearchFilter
from vaults.search.passage_facts import ItemKey
from vaults.search.question import SearchRanking
from vaults.search.ranking_features import FEATURES as LEARNED
from vaults.search.snippets import SNIPPET_LENGTH, make_snippet


@dataclass(
    slots=True
)  # not frozen: of ten hits a search makes twenty, and making a frozen one takes four times as long
class Hit:
    """One item that answers the query. ``content`` is whole when short, else ``snippet`` holds the part that matched,
    of a note under ``section``. ``score`` is its relevance, 0…1, which compares between questions and vaults;
    ``signals`` are the channels' own figures and what was added. A note's id is its path."""

    id: str
    vault: str = ""
    type: str = ""
    title: str = ""
    score: float = 0.0
    author: str = ""
    created_at: str = ""
    applies_to: str = GLOBAL
    workspace: str = GLOBAL
    tags: list[str] = field(default_factory=list)
    signals: dict[str, float] = field(default_factory=dict)
    content: str | None = None
    snippet: str | None = None
    external_id: str | None = None
    key: str | None = None
    thread: str | None = None
    parent: str | None = None
    position: int | None = None
    occurred_at: str | None = None
    superseded_by: str | None = None
    archived_at: str | None = None
    section: str | None = None
    modified_at: str | None = None
    flags: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RankedHit:
    """A hit, its item, and the passage that was found. ``place``: where in its document it is, for people. ``whole``:
    what it is a part of, and how many characters that has. ``also``: its neighbours, whose texts it shows too."""

    item: ItemKey
    passage: int
    hit: Hit
    place: str | None = None
    whole: tuple[str, int] = ("", 0)
    also: tuple[RankedHit, ...] = ()

    @property
    def positions(self) -> list[int]:
        """Of its document, what it shows, where that is several parts."""
        several = [each.hit.position or 0 for each in (self, *self.also)]
        return sorted(several) if self.also else []


def read_hits(
    tx: Reader,
    vault: str,
    ranking: SearchRanking,
    wanted: Sequence[tuple[int, float]],
    only: SearchFilter,
    length: int = SNIPPET_LENGTH,
) -> list[RankedHit]:
    """Hits for ``wanted``, passages as ranked, in that order, with their relevance; notes are cut to ``length``
    characters. The filter is applied again: a ranking may be older than the rows it ranks."""
    rows = _read_rows(tx, {passage: ranking.facts[passage].item[0] for passage, _ in wanted}, only)
    places = read_file_places(tx, [each.of.document for each in rows.values() if isinstance(each.of, FoundPart)])
    return [
        _locate(
            _to_ranked_hit(vault, ranking, (passage, ranking.relevance.of(passage)), rows[passage], length),
            rows[passage],
            places,
        )
        for passage, _ in wanted
        if passage in rows
    ]


@dataclass(frozen=True, slots=True)
class _FoundPassage:
    """A passage that was found, and the item it is part of."""

    of: HitSource
    title: str
    body: str


def _read_rows(tx: Reader, passages: Mapping[int, str], only: SearchFilter) -> dict[int, _FoundPassage]:
    """The rows behind passages, given with their kind."""
    found: dict[int, _FoundPassage] = {}
    where, params = only.over_passages()
    for kind, (columns, joined, from_row) in _KINDS.items():
        numbers = [passage for passage, its in passages.items() if its == kind]
        if not numbers:
            continue
        # The filter is a column here: as a condition it would make SQLite walk one of its indexes. The numbers are
        # bound, so that the statement is compiled once.
        rows = tx.all(
            f"SELECT p.seq, p.title, p.body, {where}, {columns} FROM json_each(:among) i"
            f" CROSS JOIN passages p ON p.seq = i.value CROSS JOIN {joined}",
            {**params, "among": json.dumps(numbers)},
        )
        for passage, title, body, passes, *values in rows:
            if passes:
                found[passage] = _FoundPassage(from_row(values), title, body)
    return found


@dataclass(frozen=True, slots=True)
class FoundPart:
    """A part of a document, and the last one that shares its passage."""

    document: Document
    first: DocumentPart
    last: int

    size: int  # characters of the document

    @property
    def place_within(self) -> str:
        """Where it stands in its document."""
        return describe_place(self.first, self.last, self.document.fields.kind)

    @property
    def place(self) -> str:
        """Where it stands, for people: "contract.pdf, page 12"."""
        fields = self.document.fields
        place, name = self.place_within, document_model.file_name(fields)
        return place if fields.kind == TRANSCRIPT or name in (None, fields.title) else f"{name}, {place}"


class FoundMemory(NamedTuple):
    """What a hit shows of a memory. A tuple of what is needed: a whole ``Memory`` takes four times as long, ten times a
    search."""

    id: str
    type: str
    title: str
    content: str
    tags: str  # JSON
    author: str
    workspace: str
    thread: str | None
    applies_to: str
    parent: str | None
    position: int | None
    occurred_at: str | None
    archived_at: str | None
    superseded_by: str | None
    external_id: str | None
    created_at: str
    key: str | None


_MEMORY_COLUMNS = ", ".join([*(f"m.{name}" for name in FoundMemory._fields[:-1]), memory_model.KEY])

HitSource: TypeAlias = FoundMemory | NoteSummary | FoundPart

_LAST_PART = (
    "(SELECT MAX(l.position) FROM document_parts l WHERE l.document = d.seq AND l.position < COALESCE((SELECT n.place"
    " FROM passages n WHERE n.sequence = p.sequence AND n.place > p.place ORDER BY n.place LIMIT 1), 1 << 53))"
)


def _part_from_row(row: Sequence[Any]) -> FoundPart:
    last, size, *values = row
    document, part = values[: document_model.COLUMN_COUNT], values[document_model.COLUMN_COUNT :]
    return FoundPart(document_model.from_row(document), document_model.part_from_row(part), int(last), int(size))


_OF_PART = (
    f"{_LAST_PART}, d.size, {document_model.COLUMNS}, {document_model.PART_COLUMNS}",
    "document_parts q ON q.seq = p.item JOIN documents d ON d.seq = q.document",
    _part_from_row,
)

_KINDS: dict[str, tuple[str, str, Callable[[Any], HitSource]]] = {
    "memory": (_MEMORY_COLUMNS, "memories m ON m.seq = p.item", FoundMemory._make),
    "note": (note_rows.COLUMNS, "notes n ON n.seq = p.item", note_rows.from_row),
    "document": _OF_PART,
    "transcript": _OF_PART,
    "code": _OF_PART,
}
"""For each kind of item: its columns, its table, and how to read the columns' values."""


def _locate(hit: RankedHit, found: _FoundPassage, places: FilePlaces) -> RankedHit:
    """With the file it is in, of a collection."""
    if not isinstance(found.of, FoundPart) or not is_of_collection(found.of.document):
        return hit
    return replace(hit, place=places.describe(found.of.document, found.of.place_within))


def _to_ranked_hit(
    vault: str, ranking: SearchRanking, ranked: tuple[int, float], found: _FoundPassage, length: int
) -> RankedHit:
    passage, score = ranked
    facts = ranking.facts[passage]
    whole = found.of.content if isinstance(found.of, FoundMemory) and len(found.of.content) <= SNIPPET_LENGTH else None
    most = SNIPPET_LENGTH if isinstance(found.of, FoundMemory) else length
    about = {
        "vault": vault,
        "score": round(max(0.0, score), 4),
        "signals": collect_signals(ranking, passage),
        "content": whole,
        "snippet": None if whole is not None else make_snippet(found.body, ranking.meant.query.shown, most),
        "flags": ["adversarial"] if facts.adversarial else [],
    }
    place = found.of.place if isinstance(found.of, FoundPart) else None
    return RankedHit(facts.item, passage, _to_hit(found, about), place, _whole_of(found.of))


def _whole_of(source: HitSource) -> tuple[str, int]:
    match source:
        case NoteSummary() as note:
            return note.path, note.size
        case FoundPart() as part:
            return part.document.id, part.size
        case memory:
            return memory.id, len(memory.content)


def _to_hit(found: _FoundPassage, about: Mapping[str, Any]) -> Hit:
    """A hit, made once and whole: ``replace`` costs as much again for each of ten. ``about``: its fields that depend on
    the question."""
    match found.of:
        case NoteSummary() as note:
            return _of_note(note, found, about)
        case FoundPart() as part:
            return _of_part(part, about)
        case memory:
            return _of_memory(memory, about)


def _of_part(part: FoundPart, about: Mapping[str, Any]) -> Hit:
    fields, first = part.document.fields, part.first
    return Hit(
        id=to_reference(part.document.id, first.position),
        type=to_type(fields.kind, first),
        title=fields.title,
        author=first.author or fields.author or "",
        created_at=fields.created_at,
        workspace=fields.workspace,
        thread=fields.thread,
        parent=part.document.id,
        position=first.position,
        occurred_at=first.at,
        section=first.heading,
        modified_at=fields.modified_at if first.at is None else None,
        **about,
    )


def _of_memory(memory: FoundMemory, about: Mapping[str, Any]) -> Hit:
    return Hit(
        id=memory.id,
        type=memory.type,
        title=memory.title,
        author=memory.author,
        created_at=memory.created_at,
        applies_to=memory.applies_to,
        workspace=memory.workspace,
        tags=[] if memory.tags == "[]" else json.loads(memory.tags),
        external_id=memory.external_id,
        key=memory.key,
        thread=memory.thread,
        parent=memory.parent,
        position=memory.position,
        occurred_at=memory.occurred_at,
        superseded_by=memory.superseded_by,
        archived_at=memory.archived_at,
        **about,
    )


def _of_note(note: NoteSummary, found: _FoundPassage, about: Mapping[str, Any]) -> Hit:
    return Hit(
        id=note.path,
        type=type_of(note.frontmatter) or "note",
        title=note.title,
        author="",
        created_at=note.created_at,
        applies_to=GLOBAL,
        workspace=GLOBAL,
        tags=note.tags,
        section=found.title.removeprefix(note.title).removeprefix(SEPARATOR) or None,
        modified_at=note.modified_at,
        **about,
    )


def collect_signals(ranking: SearchRanking, passage: int) -> dict[str, float]:
    """Why a passage ranks where it does: each channel's score, each lift, the cross-encoder's opinion. What each group
    of the learned order added is told by ``explain`` alone: in ten hits it costs as many tokens as their texts."""
    signals = {
        "keyword": ranking.words.scores.get(passage),
        "semantic": ranking.meanings.scores.get(passage),
        **{name: lift.get(passage) for name, lift in ranking.lifts.items() if name not in LEARNED},
        "rerank": ranking.opinions.get(passage),
    }
    return {name: round(value, 4) for name, value in signals.items() if value is not None}
