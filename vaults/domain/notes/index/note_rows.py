"""The rows of notes: what is known of each file, the names it is linked by, and what it links to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from vaults import heap
from vaults.db.sql import Reader, Row, Writer
from vaults.domain.notes.index.extraction import KIND, NoteExtract, SkippedFile
from vaults.errors import Conflict, NotFound
from vaults.files.paths import collision_key, parent_folder
from vaults.files.tree import FileStamp
from vaults.graph import graph_clock
from vaults.graph.link_feedback import link_applications
from vaults.graph.links import link_history, link_index
from vaults.graph.names import note_names
from vaults.graph.note_graph import read_category
from vaults.index import facets, passage_updates, passages
from vaults.index.passage_updates import PassageUpdates


@dataclass(frozen=True, slots=True)
class KnownNote:
    """A note as it was when last read. ``complete`` False: its links and tasks are still to be read."""

    seq: int
    path: str
    hash: str
    stamp: FileStamp
    read_ns: int
    complete: bool = True


@dataclass(frozen=True, slots=True)
class NoteSummary:
    """A note as listings and hits show it."""

    path: str
    title: str
    aliases: list[str]
    tags: list[str]
    frontmatter: dict[str, Any]
    etag: str
    size: int
    created_at: str
    modified_at: str
    problem: str | None = None


COLUMNS = (
    "n.path, n.title, n.aliases, n.tags, n.frontmatter, substr(n.hash, 1, 16), n.size, n.created_at, n.modified_at,"
    " n.problem"
)
"""The columns of ``NoteSummary``, in its order, from alias ``n``."""

COLUMN_COUNT = 10

_KNOWN_COLUMNS = "seq, path, hash, size, mtime_ns, inode, device, read_ns, complete"


def from_row(row: Row) -> NoteSummary:
    """From a row that starts with ``COLUMNS``."""
    path, title, aliases, tags, frontmatter, *rest = row[:COLUMN_COUNT]
    return NoteSummary(path, title, json.loads(aliases), json.loads(tags), json.loads(frontmatter), *rest)


def find_known(tx: Reader, paths: Sequence[str] | None = None) -> list[KnownNote]:
    """Every note, or those at the given paths."""
    if paths is None:
        rows = tx.all(f"SELECT {_KNOWN_COLUMNS} FROM notes")
    else:
        query = f"SELECT {_KNOWN_COLUMNS} FROM notes WHERE path = :path"
        rows = [row for path in paths if (row := tx.one(query, {"path": path}))]
    return [_known_from_row(row) for row in rows]


def find_below(tx: Reader, folder: str) -> list[KnownNote]:
    """Every note in a folder or below it."""
    rows = tx.all(
        f"SELECT {_KNOWN_COLUMNS} FROM notes WHERE folder = :folder OR folder >= :within AND folder < :beyond",
        {"folder": folder, "within": f"{folder}/", "beyond": f"{folder}0"},
    )
    return [_known_from_row(row) for row in rows]


def find_by_hash(tx: Reader, version: str) -> list[KnownNote]:
    """Notes with exactly this text."""
    rows = tx.all(f"SELECT {_KNOWN_COLUMNS} FROM notes WHERE hash = :hash", {"hash": version})
    return [_known_from_row(row) for row in rows]


def _known_from_row(row: Row) -> KnownNote:
    seq, path, digest, size, mtime_ns, inode, device, read_ns, complete = row
    return KnownNote(
        seq=seq,
        path=path,
        hash=digest,
        stamp=FileStamp(size, mtime_ns, inode, device),
        read_ns=read_ns,
        complete=bool(complete),
    )


def find_note(tx: Reader, path: str) -> tuple[int, NoteSummary]:
    """The note at a path, spelled exactly or so that it is the same file on some systems. Raises ``NotFound``, or
    ``Conflict`` where several match."""
    row = tx.one(f"SELECT {COLUMNS}, n.seq FROM notes n WHERE n.path = :path", {"path": path})
    same = f"SELECT {COLUMNS}, n.seq FROM notes n WHERE n.path_key = :key LIMIT 3"
    rows = [row] if row is not None else tx.all(same, {"key": collision_key(path)})
    if len(rows) > 1:
        raise Conflict("several notes go by this name", hint="spell it as it is", paths=[path for path, *_ in rows])
    if not rows:
        raise NotFound(f"no note {path}")
    *_, seq = rows[0]
    return seq, from_row(rows[0])


def write_note(tx: Writer, extract: NoteExtract, updates: PassageUpdates, seq: int | None = None) -> None:
    """Update a note's rows from its extract, and have ``updates`` gather those of its passages, for ``write_passages``.
    ``seq``: the row of a note that was moved here from another path."""
    with heap.pause_full_collections(extract.stamp.size):
        _write_note(tx, extract, updates, seq)


def write_passages(tx: Writer, updates: PassageUpdates, model: str | None) -> bool:
    """Write the passages of the notes written so far; returns whether vectors are missing."""
    return passage_updates.embed_or_enqueue(tx, model, updates.write(tx))


def _write_note(tx: Writer, extract: NoteExtract, updates: PassageUpdates, seq: int | None) -> None:
    previous = _read_previous(tx, extract.path, seq)
    if previous is not None and not extract.dated:
        extract = replace(extract, created_at=previous.created_at)
    number = _write_row(tx, extract, previous.seq if previous else None)
    elsewhere = previous is not None and previous.path != extract.path
    if previous is not None and elsewhere:
        link_history.move_paths(tx, [(previous.path, extract.path)])
    edit = link_history.count_edit(tx, extract.path) if previous is not None and previous.hash != extract.hash else None
    renamed = note_names.store_names(tx, number, (PurePosixPath(extract.path).stem, extract.title, *extract.aliases))
    linked = False
    if extract.links is not None:
        linked = _write_parts(tx, number, extract, elsewhere=elsewhere, edit=edit)
    elif elsewhere:
        link_index.resolve_links_of(tx, number, extract.path)
    if previous is None:
        link_index.resolve_names(tx, renamed)  # its own row already marks it as new to the graph
    elif renamed or elsewhere or previous.shown != _graph_fields(extract):
        # Titles outrank aliases, so a new title or alias may change the meaning of all its names.
        recalled = elsewhere or previous.shown[:2] != _graph_fields(extract)[:2]
        link_index.update_names(tx, number, renamed | note_names.read_keys(tx, number) if recalled else renamed)
    elif linked:
        link_index.mark_links_changed(tx, number)
    updates.add(tx, extract.item(number), extract.labels, extract.blocks)


@dataclass(frozen=True, slots=True)
class _PreviousRow:
    """A note's row before the update. ``shown``: title, aliases and category, which the graph shows."""

    seq: int
    path: str
    hash: str
    created_at: str
    shown: tuple[str, str, str]


def _read_previous(tx: Reader, at: str, seq: int | None) -> _PreviousRow | None:
    columns = "seq, path, hash, created_at, title, aliases, frontmatter"
    where = "path = :path" if seq is None else "seq = :seq"
    row = tx.one(f"SELECT {columns} FROM notes WHERE {where}", {"path": at, "seq": seq})
    if row is None:
        return None
    number, path, digest, created_at, title, aliases, frontmatter = row
    return _PreviousRow(number, path, digest, created_at, (title, aliases, read_category(json.loads(frontmatter))))


def _graph_fields(extract: NoteExtract) -> tuple[str, str, str]:
    return extract.title, _json(extract.aliases), read_category(extract.frontmatter)


def _write_row(tx: Writer, extract: NoteExtract, seq: int | None) -> int:
    row = {
        "path": extract.path, "path_key": collision_key(extract.path), "folder": parent_folder(extract.path),
        "title": extract.title, "aliases": _json(extract.aliases), "tags": _json(extract.tags),
        "frontmatter": _json(extract.frontmatter), "problem": extract.problem, "hash": extract.hash,
        "size": extract.stamp.size, "mtime_ns": extract.stamp.mtime_ns, "inode": extract.stamp.inode,
        "device": extract.stamp.device, "read_ns": extract.read_ns, "complete": int(extract.links is not None),
        "created_at": extract.created_at, "modified_at": extract.modified_at,
    }  # fmt: skip
    if extract.links is None:
        del row["tags"]  # tags in the text are read with the links; a new note has none until then
    if seq is None:
        row.setdefault("tags", "[]")
        row["linked"] = graph_clock.advance(tx)
        return tx.insert(f"INSERT INTO notes ({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})", row)
    tx.run(f"UPDATE notes SET {', '.join(f'{name} = :{name}' for name in row)} WHERE seq = :seq", row | {"seq": seq})
    return seq


def _write_parts(tx: Writer, number: int, extract: NoteExtract, *, elsewhere: bool, edit: int | None) -> bool:
    """Write links, tasks, tags and fields; returns whether links changed. ``edit``: the number of the edit that changed
    them, if it was observed."""
    difference = link_index.store_links(tx, number, extract.path, extract.links or (), elsewhere=elsewhere)
    if edit is not None:
        link_history.record_difference(tx, extract.path, edit, difference)
    link_applications.update_states(tx, number, extract.path, edit)
    tasks = [
        (number, place, task.line, task.status, task.text, task.heading, task.due, _json(list(task.tags)))
        for place, task in enumerate(extract.tasks or ())
    ]
    _rewrite(tx, "note_tasks", _TASK_COLUMNS, tasks, number)
    facets.update(tx, KIND, number, expand_tags(extract.tags), extract.frontmatter)
    return difference.any


_TASK_COLUMNS = "note, ordinal, line, status, text, heading, due, tags"


def _rewrite(tx: Writer, table: str, columns: str, rows: Sequence[Row], number: int) -> None:
    """Replace a note's rows in a table, from the first that differs on: most edits change few or none."""
    stored = tx.all(f"SELECT {columns} FROM {table} WHERE note = :note ORDER BY ordinal", {"note": number})
    differing = next((place for place, (old, new) in enumerate(zip(stored, rows, strict=False)) if old != new), None)
    first = min(len(stored), len(rows)) if differing is None else differing
    if len(stored) > first:
        tx.run(f"DELETE FROM {table} WHERE note = :note AND ordinal >= :first", {"note": number, "first": first})
    names = columns.split(", ")
    values = ", ".join(f":{name}" for name in names)
    tx.many(
        f"INSERT INTO {table} ({columns}) VALUES ({values})",
        [dict(zip(names, row, strict=True)) for row in rows[first:]],
    )


def move(tx: Writer, seq: int, path: str) -> None:
    """Record that a file moved to another folder under the same name, with nothing else changed."""
    link_history.move_paths(tx, [(tx.value("SELECT path FROM notes WHERE seq = :seq", {"seq": seq}), path)])
    tx.run(
        "UPDATE notes SET path = :path, path_key = :path_key, folder = :folder WHERE seq = :seq",
        {"path": path, "path_key": collision_key(path), "folder": parent_folder(path), "seq": seq},
    )
    tx.run(
        "UPDATE passages SET folder = :folder WHERE kind = :kind AND item = :item",
        {"folder": parent_folder(path), "kind": KIND, "item": seq},
    )
    link_index.resolve_links_of(tx, seq, path)
    link_index.update_names(tx, seq, note_names.read_keys(tx, seq))


def touch(tx: Writer, seq: int, stamp: FileStamp, read_ns: int) -> None:
    """Record that a file was saved again with the same content."""
    tx.run(
        "UPDATE notes SET size = :size, mtime_ns = :mtime_ns, inode = :inode, device = :device, read_ns = :read_ns"
        " WHERE seq = :seq",
        {
            "size": stamp.size, "mtime_ns": stamp.mtime_ns, "inode": stamp.inode, "device": stamp.device,
            "read_ns": read_ns, "seq": seq,
        },
    )  # fmt: skip


def drop(tx: Writer, numbers: Sequence[int]) -> None:
    """Remove notes whose files are gone from every index."""
    if not numbers:
        return
    passages.remove_items(tx, KIND, numbers)
    keys = link_index.read_name_keys(tx, numbers)
    tx.many("DELETE FROM notes WHERE seq = :seq", [{"seq": number} for number in numbers])
    link_index.forget_names(tx, keys)


def find_incomplete(tx: Reader, before_ns: int | None = None) -> list[str]:
    """Paths of notes whose links and tasks are still to be read: all, or those last read before a moment."""
    rows = tx.all("SELECT path, read_ns FROM notes WHERE complete = 0")
    return [path for path, read_ns in rows if before_ns is None or read_ns < before_ns]


_AT_OR_BELOW = "WHERE path = :path OR path >= :within AND path < :beyond"


def _bounds(path: str) -> dict[str, str]:
    return {"path": path, "within": f"{path}/", "beyond": f"{path}0"}


def list_skipped(tx: Reader, asked: Sequence[str] | None = None) -> dict[str, str]:
    """Why files are not indexed, by path: of all, or of the files and folders in ``asked``."""
    if asked is None:
        return dict(tx.all("SELECT path, reason FROM notes_skipped"))
    rows = [tx.all(f"SELECT path, reason FROM notes_skipped {_AT_OR_BELOW}", _bounds(path)) for path in asked]
    return dict(row for some in rows for row in some)


def record_skipped(tx: Writer, skipped: Iterable[SkippedFile], asked: Sequence[str] | None = None) -> None:
    """Record which files are not indexed, and why: for all, or for the files and folders in ``asked``."""
    if asked is None:
        tx.run("DELETE FROM notes_skipped")
    for path in asked or ():
        tx.run(f"DELETE FROM notes_skipped {_AT_OR_BELOW}", _bounds(path))
    tx.many(
        "INSERT INTO notes_skipped (path, reason) VALUES (:path, :reason)"
        " ON CONFLICT (path) DO UPDATE SET reason = excluded.reason",
        [{"path": each.path, "reason": each.reason} for each in skipped],
    )


def expand_tags(tags: Iterable[str]) -> list[str]:
    """Tags as filters match them: ``a/b`` also counts as ``a``, and each also in lower case."""
    found: dict[str, None] = {}
    for spelled in (each for tag in tags for each in (tag, tag.lower())):
        parts = spelled.split("/")
        found.update(dict.fromkeys("/".join(parts[: end + 1]) for end in range(len(parts)) if parts[end]))
    return list(found)


_ENCODER = json.JSONEncoder(ensure_ascii=False)


def _json(value: object) -> str:
    return _ENCODER.encode(value)
