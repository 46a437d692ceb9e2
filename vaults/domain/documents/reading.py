"""Documents by id, listed, and rendered as text in which no turn can pass for another."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.documents import SCHEMES, indexing
from vaults.domain.documents.document_model import COLUMNS, TRANSCRIPT, Document, DocumentPart, from_row
from vaults.errors import NotFound

_NUMBER = re.compile(r"[0-9]+")

AROUND = 3
"""Parts read on either side of one that was asked for."""

_VISIBLE = "(d.visibility = 'shared' OR d.stored_by = :viewer)"


@dataclass(frozen=True, slots=True)
class PartReference:
    """A document by its id, or the part of it at a position."""

    document: str
    position: int | None = None


def parse_reference(ref: str) -> PartReference:
    """What a reference names: ``id``, ``id#12``, or the address of either."""
    for scheme in SCHEMES:
        ref = ref.removeprefix(scheme)
    document, _, place = ref.replace("%23", "#").rpartition("#")
    if document and place.isascii() and place.isdigit():
        return PartReference(document, int(place[:9]))
    return PartReference(ref)


def to_reference(document_id: str, position: int) -> str:
    """The id of a part, as hits give it."""
    return f"{document_id}#{position}"


def find_document(tx: Reader, actor: Actor, ref: str, *, own: bool = False) -> Document:
    """A document the actor may see, by its id, or by the external id the actor gave it. ``own``: only one the actor
    stored. Raises ``NotFound``, alike for an absent one and for someone else's."""
    whose = "d.stored_by = :viewer" if own else _VISIBLE
    row = tx.one(
        f"SELECT {COLUMNS} FROM documents d WHERE {whose} AND (d.id = :ref OR d.external_id = :ref)"
        " ORDER BY d.id = :ref DESC, d.stored_by = :viewer DESC, d.seq LIMIT 1",
        {"ref": ref, "viewer": actor.identity},
    )
    if row is None:
        raise NotFound(f"no document {ref[:64]}")
    return from_row(row)


def list_documents(tx: Reader, actor: Actor, kind: str, limit: int) -> list[tuple[Document, int]]:
    """The documents of a kind the actor may see, last changed first, each with the number of its parts."""
    rows = tx.all(
        f"SELECT {COLUMNS}, (SELECT COUNT(*) FROM document_parts q WHERE q.document = d.seq) FROM documents d"
        f" WHERE {_VISIBLE} AND d.kind = :kind ORDER BY d.modified_at DESC, d.seq DESC LIMIT :limit",
        {"viewer": actor.identity, "kind": kind, "limit": limit},
    )
    return [(from_row(row), int(row[-1])) for row in rows]


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Which documents are listed. ``before``: only those stored before the one with this
    id: ids are in the order of time."""

    kinds: tuple[str, ...] = ("document", "code")
    collection: str | None = None
    workspace: str | None = None
    words: str | None = None
    before: str | None = None


def find_documents(tx: Reader, actor: Actor, only: DocumentFilter, limit: int) -> tuple[list[ListedDocument], int]:
    """The documents the actor may see, stored last first, and how many there are without ``before``."""
    words = "".join(f"%{word}" for word in _escape(only.words or "").split())
    params = {
        "viewer": actor.identity,
        "kinds": json.dumps(only.kinds),
        "collection": only.collection,
        "workspace": only.workspace,
        "words": f"{words}%" if words else None,
        "before": only.before,
        "limit": limit,
    }
    counted = tx.value(f"SELECT COUNT(*) FROM documents d WHERE {_LISTED}", params)
    rows = tx.all(
        f"SELECT {COLUMNS}, d.size, (SELECT COUNT(*) FROM document_parts q WHERE q.document = d.seq) FROM documents d"
        f" WHERE {_LISTED} AND (:before IS NULL OR d.id < :before) ORDER BY d.id DESC LIMIT :limit",
        params,
    )
    return [ListedDocument(from_row(row), int(row[-2]), int(row[-1])) for row in rows], int(counted)


def _escape(words: str) -> str:
    return re.sub(r"([%_\\])", r"\\\1", words)


_LISTED = (
    f"{_VISIBLE} AND d.kind IN (SELECT value FROM json_each(:kinds))"
    " AND (:collection IS NULL OR d.collection = :collection) AND (:workspace IS NULL OR d.workspace = :workspace)"
    " AND (:words IS NULL OR d.title LIKE :words ESCAPE '\\' OR d.uri LIKE :words ESCAPE '\\')"
)


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document with how long it is, in characters and in parts."""

    document: Document
    size: int
    parts: int


@dataclass(frozen=True, slots=True)
class TranscriptTotals:
    """Transcripts the caller may see: how many, by the program that wrote them down, and when the last went on."""

    total: int
    programs: dict[str, int]
    newest: str | None = None


def count_transcripts(tx: Reader, actor: Actor) -> TranscriptTotals:
    """What there is of transcripts."""
    rows = tx.all(
        f"SELECT COALESCE(d.author, ''), COUNT(*), MAX(d.modified_at) FROM documents d"
        f" WHERE {_VISIBLE} AND d.kind = 'transcript' GROUP BY 1 ORDER BY 2 DESC, 1",
        {"viewer": actor.identity},
    )
    counts = {author or "unknown": int(count) for author, count, _ in rows}
    return TranscriptTotals(sum(counts.values()), counts, max((newest for *_, newest in rows), default=None))


def describe_place(first: DocumentPart, last: int, kind: str) -> str:
    """Where parts stand, for people: the place their source gives them, else their numbers up to ``last``."""
    return first.locator or _describe_numbers(first.position, last, kind)


def describe_range(parts: Sequence[DocumentPart], kind: str) -> str | None:
    """Which parts these are, by their numbers, or by their lines in a file of code; None where there is none."""
    if not parts:
        return None
    if kind == "code":
        return _describe_lines(parts)
    return _describe_numbers(parts[0].position, parts[-1].position, kind)


def _describe_lines(parts: Sequence[DocumentPart]) -> str | None:
    numbers = _NUMBER.findall(" ".join(part.locator or "" for part in (parts[0], parts[-1])))
    return f"lines {numbers[0]}–{numbers[-1]}" if numbers else None


def _describe_numbers(first: int, last: int, kind: str) -> str:
    noun = "turn" if kind == TRANSCRIPT else "part"
    return f"{noun} {first}" if last <= first else f"{noun}s {first}–{last}"


def read_around(tx: Reader, document: Document, position: int) -> list[DocumentPart]:
    """The part at a position and those around it. Raises ``NotFound``."""
    if not indexing.read_parts(tx, document.seq, position, position):
        raise NotFound(f"no part {position} in document {document.id}")
    return indexing.read_parts(tx, document.seq, max(0, position - AROUND), position + AROUND)


def render_parts(document: Document, parts: Sequence[DocumentPart]) -> str:
    """Parts as text. Each turn of a transcript has a line of its own that says whose it is, and its text is indented,
    so that nothing said in it can pass for such a line. Source code is its text and nothing else, so that lines have
    the numbers they have in the file."""
    if document.fields.kind == "code":
        return "".join(part.text for part in parts)
    render = _render_turn if document.fields.kind == TRANSCRIPT else _render_section
    return "\n".join(render(document, part) for part in parts)


def _render_turn(document: Document, part: DocumentPart) -> str:
    who = part.author or part.role or document.fields.author or "unknown"
    role = part.role if part.role != who else None
    said = [who, role, "thinking" if part.thinking else None, part.at, part.heading, part.locator]
    head = f"[{part.position}] {', '.join(_one_line(each) for each in said if each)}"
    return "\n".join([head, *(f"  {line}".rstrip() for line in part.text.splitlines()), ""])


def _render_section(_: Document, part: DocumentPart) -> str:
    head = ", ".join(_one_line(each) for each in (part.locator, part.heading) if each)
    return f"[{head}]\n{part.text}\n" if head else f"{part.text}\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())
