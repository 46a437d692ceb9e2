"""Comparing one note's rows with its file. Read-only."""

from __future__ import annotations

import json
from dataclasses import replace

from vaults.db.sql import Reader, Row
from vaults.domain.notes.index import reconciliation
from vaults.domain.notes.index.extraction import KIND, NoteExtract, folder_of, path_key
from vaults.domain.notes.index.note_rows import KnownNote, expand_tags, find_known
from vaults.domain.notes.verify.disk_state import DiskState
from vaults.index import facets, passage_updates, passages
from vaults.markdown.link_resolution import name_key

UNCOMPARED_COLUMNS = ("source_hash", "modified_at", "kind", "item", "place", "ordinal")
"""Passage columns that do not depend on the content."""

_COLUMNS = ("source_hash", *(name for name in passages.COLUMNS if name not in UNCOMPARED_COLUMNS))
_COLUMN_LIST = ", ".join(f"p.{name}" for name in _COLUMNS)


def compare_rows(tx: Reader, seen: DiskState, max_tokens: int) -> list[str]:
    """How the rows differ from the disk, as codes of findings."""
    if seen.closed:
        return []
    reason = tx.value("SELECT reason FROM notes_skipped WHERE path = ?", (seen.path,))
    found = [] if reason == seen.left_out else ["skipped_differ"]
    known = next(iter(find_known(tx, [seen.path])), None)
    if seen.taken is None:
        return [*found, "notes_gone"] if known else found
    if known is None:
        return [*found, "notes_unindexed"]
    if known.hash != seen.taken.hash:
        return [*found, "notes_stale"]
    return [*found, *_compare_row(tx, known, seen.taken, max_tokens)]


def is_settled(tx: Reader, seen: DiskState) -> bool:
    """Whether the sync loop considers the path up to date: then waiting resolves no finding."""
    known = next(iter(find_known(tx, [seen.path])), None)
    if known is None or seen.taken is None or not known.complete:
        return False
    return known.hash == seen.taken.hash or reconciliation.is_unchanged(known, seen.taken.stamp)


def _compare_row(tx: Reader, known: KnownNote, taken: NoteExtract, max_tokens: int) -> list[str]:
    found = [] if _row_agrees(tx, known, taken) and _names_agree(tx, known.seq, taken) else ["notes_differ"]
    if not known.complete:
        found.append("notes_unfinished")
    elif not (_facets_agree(tx, known.seq, taken) and _lists_agree(tx, known.seq, taken)):
        found.append("links_differ")
    return [*found, *_compare_passages(tx, known.seq, taken, max_tokens)]


def _row_agrees(tx: Reader, known: KnownNote, taken: NoteExtract) -> bool:
    expected: dict[str, object] = {
        "path_key": path_key(taken.path), "folder": folder_of(taken.path), "title": taken.title,
        "aliases": _json(taken.aliases), "frontmatter": _json(taken.frontmatter), "problem": taken.problem,
        "size": taken.stamp.size,
    }  # fmt: skip
    if known.complete:
        expected["tags"] = _json(taken.tags)
    if taken.dated:
        expected["created_at"] = taken.created_at
    row = tx.one(f"SELECT {', '.join(expected)} FROM notes WHERE seq = ?", (known.seq,))
    return row == tuple(expected.values())


def _names_agree(tx: Reader, number: int, taken: NoteExtract) -> bool:
    stem = taken.path.rpartition("/")[2].rpartition(".")[0]
    keys = {name_key(each) for each in (stem, taken.title, *taken.aliases)} - {""}
    return keys == {row[0] for row in tx.all("SELECT key FROM note_names WHERE note = ?", (number,))}


def _facets_agree(tx: Reader, number: int, taken: NoteExtract) -> bool:
    item = (KIND, number)
    tags = [row[0] for row in tx.all("SELECT tag FROM item_tags WHERE kind = ? AND item = ?", item)]
    fields = tx.all("SELECT field, value FROM item_fields WHERE kind = ? AND item = ?", item)
    return set(tags) == set(expand_tags(taken.tags)) and set(fields) == set(facets.to_fields(taken.frontmatter))


def _lists_agree(tx: Reader, number: int, taken: NoteExtract) -> bool:
    links: list[Row] = [
        (place, each.kind, each.line, each.target, name_key(each.page), each.heading, each.block, each.alias,
         int(each.embed))
        for place, each in enumerate(taken.links or ())
    ]  # fmt: skip
    tasks: list[Row] = [
        (place, each.line, each.status, each.text, each.heading, each.due, _json(list(each.tags)))
        for place, each in enumerate(taken.tasks or ())
    ]
    return links == tx.all(
        "SELECT ordinal, kind, line, target, target_key, heading, block, alias, embed FROM note_links WHERE note = ?"
        " ORDER BY ordinal",
        (number,),
    ) and tasks == tx.all(
        "SELECT ordinal, line, status, text, heading, due, tags FROM note_tasks WHERE note = ? ORDER BY ordinal",
        (number,),
    )


def _compare_passages(tx: Reader, number: int, taken: NoteExtract, max_tokens: int) -> list[str]:
    stored = tx.all(
        f"SELECT {_COLUMN_LIST}, s.pairs FROM passages p LEFT JOIN passages_pairs s ON s.rowid = p.seq"
        " WHERE p.kind = ? AND p.item = ? ORDER BY p.ordinal",
        (KIND, number),
    )
    if not stored:
        return ["passages_missing"]
    # A note without a creation date in its frontmatter is dated by its row alone: when it was first seen.
    created = taken.created_at if taken.dated else tx.value("SELECT created_at FROM notes WHERE seq = ?", (number,))
    item = replace(taken.item(number), at=created)
    shared = item.columns() | {"sequence": passage_updates.sequence_of(item)}
    expected = [
        (*(row[name] for name in _COLUMNS), passage.grams or None)
        for block in taken.blocks
        for place, passage in enumerate(block.cut(max_tokens, taken.labels))
        for row in (shared | passage.columns() | {"source_hash": f"{block.digest}:{place}"},)
    ]
    return [] if stored == expected else ["passages_differ"]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
