"""Listing notes by metadata: folder, tags, frontmatter, names and times. No query, no ranking."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from vaults.context import run_in
from vaults.db.sql import Reader, Row
from vaults.domain.notes.index import note_rows
from vaults.domain.notes.index.extraction import KIND
from vaults.domain.notes.read.note_parts import MAX_TITLE, limit_fields
from vaults.domain.paging import cursors, token_budget
from vaults.domain.text.fields import hash_parts
from vaults.errors import InvalidArgument, StrongroomError
from vaults.files.paths import normalize_path
from vaults.index.facets import to_field_text
from vaults.markdown.link_resolution import fold_name
from vaults.vault import Vault

NoteSort = Literal["path", "title", "modified", "created", "size"]
SortOrder = Literal["asc", "desc"]
Params: TypeAlias = dict[str, Any]

MAX_FRONTMATTER = 600
"""Max characters of a note's frontmatter shown, as JSON."""

MAX_TAGS = 50
"""Max tags of a note shown."""

SYNC_WAIT_S = 0.5
"""Seconds a reader waits for an index that is being built."""

_SORT_COLUMNS = {
    "path": "n.path",
    "title": "substr(lower(n.title), 1, 200)",
    "modified": "n.modified_at",
    "created": "n.created_at",
    "size": "n.size",
}


@dataclass(frozen=True, slots=True)
class NoteFilter:
    """Which notes to list. Tags and the values of ``fields`` are compared without case; a tag includes those below it.
    Times are in stored form: ``…_after`` is inclusive, ``…_before`` exclusive."""

    folder: str | None = None
    fields: tuple[tuple[str, tuple[str | int | float | bool, ...]], ...] = ()
    has_all: tuple[str, ...] = ()
    has_any: tuple[str, ...] = ()
    title_contains: str | None = None
    modified_after: str | None = None
    modified_before: str | None = None
    created_after: str | None = None
    created_before: str | None = None
    sort_by: NoteSort = "path"
    order: SortOrder = "asc"

    @property
    def digest(self) -> str:
        """Identifies the listing that a cursor belongs to."""
        return hash_parts({name: getattr(self, name) for name in self.__slots__})[:16]


@dataclass(frozen=True, slots=True)
class ListedNote:
    """A note in a list. ``size`` in bytes; ``frontmatter`` as far as it is short."""

    path: str
    title: str
    modified_at: str
    created_at: str
    size: int
    etag: str
    tags: list[str] = field(default_factory=list)
    frontmatter: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class FoundNotes:
    """A page of notes, of ``total`` that pass. ``cursor`` asks for the next."""

    notes: list[ListedNote]
    total: int
    truncated: bool = False
    cursor: str | None = None
    warnings: list[str] = field(default_factory=list)


async def find_notes(
    vault: Vault, wanted: NoteFilter, limit: int, max_tokens: int, cursor: str | None = None
) -> FoundNotes:
    """Matching notes, page by page. A page continues after the last row of the one before, so notes that come or go
    neither repeat nor hide others. Raises ``InvalidArgument`` for a cursor of another listing."""
    warnings = await warn_if_behind(vault)
    after = cursors.decode(cursor, wanted.digest) if cursor is not None else None
    rows, total = await vault.db.read(lambda tx: _read_rows(tx, wanted, limit, after))
    lines = [_to_line(note_rows.from_row(row)) for row in rows[:limit]]
    texts = [_to_json(line) for line in lines]
    count = await token_budget.count_fitting(vault, texts, max_tokens)
    if not total:
        warnings += await warn_if_no_folder(vault, wanted.folder)
    more = count < len(rows)
    following = None
    if more:
        *_, last, seq = rows[count - 1]
        following = cursors.encode(wanted.digest, last, seq)
    return FoundNotes(lines[:count], total, more, following, warnings)


async def warn_if_behind(vault: Vault) -> list[str]:
    """Warnings for a search while the index is behind the files. Waits for it up to ``SYNC_WAIT_S``."""
    progress = vault.notes.progress
    if progress.phase == "scanning" or (progress.phase == "unread" and vault.lease.held):
        await vault.notes.wait_for_index(SYNC_WAIT_S)
        progress = vault.notes.progress
    if progress.phase == "scanning":
        return [f"notes: {progress.done} of {progress.total} read so far" if progress.total else "notes: being listed"]
    if progress.phase == "unavailable":
        return [f"notes: as last read, the folder cannot be read now: {progress.reason or 'unknown'}"]
    return []


def _read_rows(tx: Reader, wanted: NoteFilter, limit: int, after: tuple[Any, int] | None) -> tuple[list[Row], int]:
    params: Params = {}
    where = " AND ".join(_conditions(wanted, params)) or "1 = 1"
    total = int(tx.value(f"SELECT COUNT(*) FROM notes n WHERE {where}", params))
    key, sign = _SORT_COLUMNS[wanted.sort_by], "<" if wanted.order == "desc" else ">"
    if after is not None:
        where += f" AND ({key} {sign} :last OR ({key} = :last AND n.seq {sign} :seq))"
        params |= {"last": after[0], "seq": after[1]}
    direction = wanted.order.upper()
    rows = tx.all(
        f"SELECT {note_rows.COLUMNS}, {key}, n.seq FROM notes n WHERE {where}"
        f" ORDER BY {key} {direction}, n.seq {direction} LIMIT :limit",
        {**params, "limit": limit + 1},
    )
    return rows, total


def _conditions(wanted: NoteFilter, params: Params) -> Iterator[str]:
    if folder := parse_folder(wanted.folder):
        params |= {"folder": folder, "within": f"{folder}/", "beyond": f"{folder}0"}
        yield folder_condition("n.folder")
    for name, column, sign in _TIMES:
        if (moment := getattr(wanted, name)) is not None:
            params[name] = moment
            yield f"{column} {sign} :{name}"
    if wanted.title_contains is not None:
        params |= {"part": wanted.title_contains.lower(), "key": fold_name(wanted.title_contains)}
        named = "SELECT 1 FROM note_names k WHERE k.note = n.seq AND instr(k.key, :key) > 0"
        yield f"(instr(lower(n.title), :part) > 0 OR EXISTS ({named}))"
    for number, tag in enumerate(wanted.has_all):
        yield _tag_condition([tag], f"all{number}", params)
    if wanted.has_any:
        yield _tag_condition(wanted.has_any, "any", params)
    for number, (name, values) in enumerate(wanted.fields):
        params[f"field{number}"] = name
        texts = [text for value in values if (text := to_field_text(value)) is not None]
        among = _bind_values(texts, f"value{number}", params)
        same = f"f.kind = '{KIND}' AND f.item = n.seq AND f.field = :field{number} AND f.value IN ({among})"
        yield f"EXISTS (SELECT 1 FROM item_fields f WHERE {same})" if texts else "1 = 0"


_TIMES = (
    ("modified_after", "n.modified_at", ">="),
    ("modified_before", "n.modified_at", "<"),
    ("created_after", "n.created_at", ">="),
    ("created_before", "n.created_at", "<"),
)


def parse_folder(folder: str | None) -> str:
    """The folder a caller names, normalized; '' for all notes. Raises ``InvalidArgument``."""
    plain = (folder or "").strip("/")
    try:
        return normalize_path(plain) if plain else ""
    except InvalidArgument as failure:
        raise InvalidArgument("folder", failure.message.rpartition(": path ")[2], hint=failure.hint) from None


async def warn_if_no_folder(vault: Vault, name: str | None) -> list[str]:
    """A warning if the folder does not exist; one that merely holds no notes does."""
    folder = parse_folder(name)
    if not folder:
        return []
    try:
        existing = await run_in(vault.shared.pool, vault.notes.tree.collision, folder)
    except StrongroomError:
        return []  # unknown at the moment
    if existing == folder:
        return []
    other = f"; there is '{existing}'" if existing and not folder.startswith(existing) else ""
    return [f"no folder '{folder}'{other}"]


def folder_condition(column: str) -> str:
    """SQL for a folder and those below it. Not LIKE, which ignores case. "0" is the character after "/"."""
    return f"({column} = :folder OR {column} >= :within AND {column} < :beyond)"


def _tag_condition(tags: Sequence[str], stem: str, params: Params) -> str:
    among = _bind_values([to_tag_key(tag) for tag in tags], stem, params)
    return f"EXISTS (SELECT 1 FROM item_tags t WHERE t.kind = '{KIND}' AND t.item = n.seq AND t.tag IN ({among}))"


def to_tag_key(tag: str) -> str:
    """A tag from a filter as it is stored: without ``#`` and in lower case."""
    return tag.strip().removeprefix("#").rstrip("/").lower()


def _bind_values(values: Sequence[str], stem: str, params: Params) -> str:
    params |= {f"{stem}_{number}": value for number, value in enumerate(values)}
    return ", ".join(f":{stem}_{number}" for number in range(len(values)))


def _to_line(note: note_rows.NoteSummary) -> ListedNote:
    shown, _ = limit_fields(note.frontmatter, MAX_FRONTMATTER)
    return ListedNote(
        path=note.path,
        title=note.title[:MAX_TITLE],
        modified_at=note.modified_at,
        created_at=note.created_at,
        size=note.size,
        etag=note.etag,
        tags=note.tags[:MAX_TAGS],
        frontmatter=shown or None,
    )


def _to_json(line: ListedNote) -> str:
    return json.dumps({name: getattr(line, name) for name in line.__slots__}, ensure_ascii=False)
