"""Comparing one note's rows with its file. Read-only."""

from __future__ import annotations

import json
from dataclasses import replace

from vaults.db.sql import Reader, Row
from vaults.domain.notes.index import reconciliation
from vaults.domain.notes.index.extraction import KIND, NoteExtract
from vaults.domain.notes.index.note_rows import KnownNote, expand_tags, find_known
from vaults.domain.notes.verify.disk_state import DiskState
from vaults.files.paths import collision_key, parent_folder
from vaults.index import facets, passage_updates, passages, text_index
from vaults.markdown.link_resolution import name_key

UNCOMPARED_COLUMNS = ("source_hash", "modified_at", "kind", "item", "place", "ordinal")
"""Passage columns that do not depend on the content."""

_COLUMNS = ("source_hash", *(name for name in passages.COLUMNS if name not in UNCOMPARED_COLUMNS))
_COLUMN_LIST = ", ".join(f"p.{name}" for name in _COLUMNS)


def compare_rows(tx: Reader, state: DiskState, max_tokens: int) -> list[str]:
    """How the rows differ from the disk, as codes of findings."""
    if state.closed:
        return []
    reason = tx.value("SELECT reason FROM notes_skipped WHERE path = :path", {"path": state.path})
    found = [] if reason == state.left_out else ["skipped_differ"]
    known = next(iter(find_known(tx, [state.path])), None)
    if state.extract is None:
        return [*found, "notes_gone"] if known else found
    if known is None:
        return [*found, "notes_unindexed"]
    if known.hash != state.extract.hash:
        return [*found, "notes_stale"]
    return [*found, *_compare_row(tx, known, state.extract, max_tokens)]


def is_settled(tx: Reader, state: DiskState) -> bool:
    """Whether the sync loop considers the path up to date: then waiting resolves no finding."""
    known = next(iter(find_known(tx, [state.path])), None)
    if known is None or state.extract is None or not known.complete:
        return False
    return known.hash == state.extract.hash or reconciliation.is_unchanged(known, state.extract.stamp)


def _compare_row(tx: Reader, known: KnownNote, extract: NoteExtract, max_tokens: int) -> list[str]:
    found = [] if _row_agrees(tx, known, extract) and _names_agree(tx, known.seq, extract) else ["notes_differ"]
    if not known.complete:
        found.append("notes_unfinished")
    elif not (_facets_agree(tx, known.seq, extract) and _lists_agree(tx, known.seq, extract)):
        found.append("links_differ")
    return [*found, *_compare_passages(tx, known.seq, extract, max_tokens)]


def _row_agrees(tx: Reader, known: KnownNote, extract: NoteExtract) -> bool:
    expected: dict[str, object] = {
        "path_key": collision_key(extract.path), "folder": parent_folder(extract.path), "title": extract.title,
        "aliases": _json(extract.aliases), "frontmatter": _json(extract.frontmatter), "problem": extract.problem,
        "size": extract.stamp.size,
    }  # fmt: skip
    if known.complete:
        expected["tags"] = _json(extract.tags)
    if extract.dated:
        expected["created_at"] = extract.created_at
    row = tx.one(f"SELECT {', '.join(expected)} FROM notes WHERE seq = :seq", {"seq": known.seq})
    return row == tuple(expected.values())


def _names_agree(tx: Reader, number: int, extract: NoteExtract) -> bool:
    stem = extract.path.rpartition("/")[2].rpartition(".")[0]
    keys = {name_key(each) for each in (stem, extract.title, *extract.aliases)} - {""}
    return keys == {row[0] for row in tx.all("SELECT key FROM note_names WHERE note = :note", {"note": number})}


def _facets_agree(tx: Reader, number: int, extract: NoteExtract) -> bool:
    item = {"kind": KIND, "item": number}
    tags = [row[0] for row in tx.all("SELECT tag FROM item_tags WHERE kind = :kind AND item = :item", item)]
    fields = tx.all("SELECT field, value FROM item_fields WHERE kind = :kind AND item = :item", item)
    return set(tags) == set(expand_tags(extract.tags)) and set(fields) == set(facets.to_fields(extract.frontmatter))


def _lists_agree(tx: Reader, number: int, extract: NoteExtract) -> bool:
    links: list[Row] = [
        (place, each.kind, each.line, each.target, name_key(each.page), each.heading, each.block, each.alias,
         int(each.embed))
        for place, each in enumerate(extract.links or ())
    ]  # fmt: skip
    tasks: list[Row] = [
        (place, each.line, each.status, each.text, each.heading, each.due, _json(list(each.tags)))
        for place, each in enumerate(extract.tasks or ())
    ]
    return links == tx.all(
        "SELECT ordinal, kind, line, target, target_key, heading, block, alias, embed FROM note_links"
        " WHERE note = :note ORDER BY ordinal",
        {"note": number},
    ) and tasks == tx.all(
        "SELECT ordinal, line, status, text, heading, due, tags FROM note_tasks WHERE note = :note ORDER BY ordinal",
        {"note": number},
    )


def _compare_passages(tx: Reader, number: int, extract: NoteExtract, max_tokens: int) -> list[str]:
    stored = tx.all(
        f"SELECT {_COLUMN_LIST}, {text_index.pairs_column()} FROM passages p"
        " WHERE p.kind = :kind AND p.item = :item ORDER BY p.ordinal",
        {"kind": KIND, "item": number},
    )
    if not stored:
        return ["passages_missing"]
    # A note without a creation date in its frontmatter is dated by its row alone: when it was first seen.
    first_seen = tx.value("SELECT created_at FROM notes WHERE seq = :seq", {"seq": number})
    item = replace(extract.item(number), at=extract.created_at if extract.dated else first_seen)
    shared = item.columns() | {"sequence": passage_updates.sequence_of(item)}
    expected = [
        (*(row[name] for name in _COLUMNS), passage.grams or None)
        for block in extract.blocks
        for place, passage in enumerate(block.cut(max_tokens, extract.labels))
        for row in (shared | passage.columns() | {"source_hash": f"{block.digest}:{place}"},)
    ]
    return [] if stored == expected else ["passages_differ"]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
