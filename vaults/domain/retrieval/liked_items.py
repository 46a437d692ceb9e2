"""What others should be like: a memory, a note, a document, or a part of one, by the reference a caller gives."""

from __future__ import annotations

from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.documents import indexing as documents_indexing
from vaults.domain.documents import reading
from vaults.domain.memories import indexing, visibility
from vaults.domain.notes.index import extraction, note_rows
from vaults.errors import NotFound
from vaults.files.paths import is_note, path_from_address
from vaults.search.fts_expression import split_words
from vaults.search.question import LikedItem
from vaults.vault import Vault

MAX_QUERY_CHARACTERS = 1_000
"""Max characters of an item used as the query when others like it are wanted and it has no vector."""


async def resolve_similar_to(vault: Vault, actor: Actor, ref: str) -> tuple[LikedItem, str]:
    """What an id, a note's path, or the address of either stands for, and the words to search for while it has no
    vector. ``id#12`` is that part of a document, an id alone the whole of it. Raises ``NotFound``."""

    def read(tx: Reader) -> tuple[LikedItem, str]:
        if (path := _to_note_path(ref)) is not None:
            return _find_note(tx, path)
        return _find_in_documents(tx, actor, ref) or _find_memory(tx, actor, ref)

    return await vault.db.read(read)


def _to_note_path(ref: str) -> str | None:
    """The path of a note named by its address or path; None for other references."""
    return path_from_address(ref) or (ref if is_note(ref) else None)


def _find_note(tx: Reader, path: str) -> tuple[LikedItem, str]:
    number, note = note_rows.find_note(tx, path)
    first = "SELECT body FROM passages WHERE kind = 'note' AND item = :note ORDER BY ordinal LIMIT 1"
    return LikedItem((extraction.KIND, number)), _to_query(note.title, tx.value(first, {"note": number}) or "")


def _find_memory(tx: Reader, actor: Actor, ref: str) -> tuple[LikedItem, str]:
    seq = visibility.find_visible(tx, ref.removeprefix("memory://"), actor)
    title, content = tx.one("SELECT title, content FROM memories WHERE seq = :seq", {"seq": seq}) or ("", "")
    return LikedItem((indexing.KIND, seq)), _to_query(title, content)


def _find_in_documents(tx: Reader, actor: Actor, ref: str) -> tuple[LikedItem, str] | None:
    """A document, or the run of parts with the one that is named; None for another reference."""
    named = reading.parse_reference(ref)
    try:
        document = reading.find_document(tx, actor, named.document)
    except NotFound:
        return None
    sequence = documents_indexing.sequence_of(document)
    row = tx.one(
        "SELECT kind, item, body FROM passages WHERE sequence = :sequence AND place <= :place"
        " ORDER BY place DESC, item, ordinal LIMIT 1",
        {"sequence": sequence, "place": named.position or 0},
    )
    if row is None:
        return None
    kind, item, body = row
    if named.position is None:
        whole = LikedItem((kind, int(item)), document.id, sequence)
        return whole, _to_query(document.fields.title, body)
    return LikedItem((kind, int(item)), document.id), _to_query("", body)


def _to_query(title: str, text: str) -> str:
    return " ".join(split_words(f"{title}\n{text}"[:MAX_QUERY_CHARACTERS]))
