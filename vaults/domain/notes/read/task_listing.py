"""Listing tasks of all notes, from the index."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from vaults.db.sql import Reader, Row
from vaults.domain.notes.index import note_rows
from vaults.domain.notes.read.dated_notes import resolve_path
from vaults.domain.notes.read.note_listing import (
    folder_condition,
    parse_folder,
    to_tag_key,
    warn_if_behind,
    warn_if_no_folder,
)
from vaults.domain.paging import cursors, token_budget
from vaults.domain.text.fields import hash_parts
from vaults.errors import InvalidArgument
from vaults.files.paths import to_note_path
from vaults.markdown.task_edits import STATUSES
from vaults.vault import Vault

Params: TypeAlias = dict[str, Any]
TaskSort = Literal["path", "due"]

_NO_DUE_DATE = "9999-99-99"
_COLUMNS = "n.path, t.line, t.status, t.text, t.heading, t.due, t.tags"
_SORT_COLUMNS = {"path": "n.path", "due": f"(COALESCE(t.due, '{_NO_DUE_DATE}') || ' ' || n.path)"}


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """Which tasks to list."""

    path: str | None = None
    folder: str | None = None
    status: str = (
        "open"  # open (neither done nor cancelled), done, all, another of ``STATUSES``, or the box's character
    )
    tag: str | None = None
    contains: str | None = None
    due_after: str | None = None
    due_before: str | None = None  # exclusive
    sort_by: TaskSort = "path"

    @property
    def digest(self) -> str:
        """Identifies the listing that a cursor belongs to."""
        return hash_parts("tasks", {name: getattr(self, name) for name in self.__slots__})[:16]


@dataclass(frozen=True, slots=True)
class TaskLine:
    """A task: the note and line it stands in, the character in its box, what is behind it, the heading above."""

    path: str
    line: int
    status: str
    text: str
    heading: str
    due: str | None
    tags: list[str]


@dataclass(frozen=True, slots=True)
class TaskPage:
    """A page of tasks, of ``total`` that pass. ``cursor`` asks for the next."""

    tasks: list[TaskLine]
    total: int
    truncated: bool
    cursor: str | None
    warnings: list[str] = field(default_factory=list)


async def list_tasks(
    vault: Vault, wanted: TaskFilter, limit: int, max_tokens: int, cursor: str | None = None
) -> TaskPage:
    """Tasks ordered by path and line, or by due date. Raises ``NotFound`` for a note that does not exist,
    ``InvalidArgument`` for an invalid status or cursor."""
    warnings = await warn_if_behind(vault)
    path = to_note_path(await resolve_path(vault, wanted.path)) if wanted.path is not None else None
    after = cursors.decode(cursor, wanted.digest) if cursor is not None else None
    rows, total = await vault.db.read(lambda tx: _read_rows(tx, wanted, path, limit, after))
    tasks = [_from_row(row) for row in rows[:limit]]
    texts = [f"{task.path} {task.heading} {task.text}" for task in tasks]
    count = await token_budget.count_fitting(vault, texts, max_tokens)
    if not total:
        warnings += await warn_if_no_folder(vault, wanted.folder)
    more = count < len(rows)
    following = None
    if more:
        *_, last, ordinal = rows[count - 1]
        following = cursors.encode(wanted.digest, last, ordinal)
    return TaskPage(tasks[:count], total, more, following, warnings)


def _from_row(row: Row) -> TaskLine:
    path, line, status, text, heading, due, tags, *_ = row
    return TaskLine(path=path, line=line, status=status, text=text, heading=heading, due=due, tags=json.loads(tags))


def _read_rows(
    tx: Reader, wanted: TaskFilter, path: str | None, limit: int, after: tuple[Any, int] | None
) -> tuple[list[Row], int]:
    params: Params = {}
    clauses = list(_conditions(wanted, params))
    if path is not None:
        params["note"] = note_rows.find_note(tx, path)[0]
        clauses.append("t.note = :note")
    joined = f"note_tasks t JOIN notes n ON n.seq = t.note WHERE {' AND '.join(clauses) or '1 = 1'}"
    total = int(tx.value(f"SELECT COUNT(*) FROM {joined}", params))
    key = _SORT_COLUMNS[wanted.sort_by]
    if after is not None:
        joined += f" AND ({key} > :last OR ({key} = :last AND t.ordinal > :ordinal))"
        params |= {"last": after[0], "ordinal": after[1]}
    rows = tx.all(
        f"SELECT {_COLUMNS}, {key}, t.ordinal FROM {joined} ORDER BY {key}, t.ordinal LIMIT :limit",
        {**params, "limit": limit + 1},
    )
    return rows, total


def _conditions(wanted: TaskFilter, params: Params) -> Iterator[str]:
    if clause := _status_condition(wanted.status, params):
        yield clause
    if folder := parse_folder(wanted.folder):
        params |= {"folder": folder, "within": f"{folder}/", "beyond": f"{folder}0"}
        yield folder_condition("n.folder")
    if wanted.tag is not None:
        # In JSON a tag stands between quotes, and a tag below it starts with it and a slash.
        tag = json.dumps(to_tag_key(wanted.tag), ensure_ascii=False)
        params |= {"tag": tag, "below": f"{tag[:-1]}/"}
        yield "(instr(lower(t.tags), :tag) > 0 OR instr(lower(t.tags), :below) > 0)"
    if wanted.contains is not None:
        params["contains"] = wanted.contains.lower()
        yield "instr(lower(t.text), :contains) > 0"
    for name, sign in (("due_after", ">="), ("due_before", "<")):
        if (day := getattr(wanted, name)) is not None:
            params[name] = day[:10]
            yield f"t.due {sign} :{name}"


def _status_condition(status: str, params: Params) -> str | None:
    if status == "all":
        return None
    if status == "open":
        return "t.status NOT IN ('x', 'X', '-')"
    if status == "done":
        return "t.status IN ('x', 'X')"
    mark = STATUSES.get(status, status)
    if len(mark) != 1:
        raise InvalidArgument("status", f"must be all, {', '.join(STATUSES)} or the character in the box")
    params["status"] = mark
    return "t.status = :status"
