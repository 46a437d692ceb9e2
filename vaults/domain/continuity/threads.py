"""Threads: lines of work. A thread is a label that memories, passages and checkpoints carry, and sessions touch.

It exists for a caller who may see something that carries it: one known only from another's private memories does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vaults.advice import Advice, tool_clause
from vaults.db.sql import Reader, Row
from vaults.domain.continuity import checkpoints
from vaults.domain.continuity.checkpoints import Checkpoint, CheckpointVersion, StateDiff
from vaults.errors import NotFound
from vaults.search.filters import SearchFilter


@dataclass(frozen=True, slots=True)
class Thread:
    """A line of work: how much carries it, as far as the caller may see, and when something of it last changed."""

    name: str
    memories: int
    passages: int
    checkpoints: int
    sessions: int
    last_at: str


@dataclass(frozen=True, slots=True)
class ThreadPage:
    """Threads, of ``total``, the one changed last first."""

    threads: list[Thread]
    total: int


@dataclass(frozen=True, slots=True)
class ThreadMemory:
    """A memory of a thread, in short."""

    id: str
    type: str
    title: str
    author: str
    created_at: str


@dataclass(frozen=True, slots=True)
class ThreadItem:
    """Something else with passages of a thread: a note by its path."""

    kind: str
    ref: str
    title: str


@dataclass(frozen=True, slots=True)
class ThreadVisit:
    """A session that touched a thread."""

    who: str
    client: str | None
    status: str
    goal: str | None
    at: str


@dataclass(frozen=True, slots=True)
class ThreadContents:
    """What a thread holds, newest first."""

    thread: Thread
    memories: list[ThreadMemory]
    parts: list[ThreadItem]
    sessions: list[ThreadVisit]
    versions: list[CheckpointVersion]
    state: Checkpoint | None  # the current one
    diff: StateDiff | None  # from the version before


def list_threads(tx: Reader, only: SearchFilter, limit: int) -> ThreadPage:
    """Threads visible to the caller, in the workspaces of ``only``."""
    query, params = _counting_query(only)
    rows = tx.all(f"{query} ORDER BY MAX(at) DESC, name LIMIT :limit", {**params, "limit": limit})
    *_, total = rows[0] if rows else (0,)
    return ThreadPage([_thread(tx, row) for row in rows], int(total))


def read_thread(tx: Reader, only: SearchFilter, name: str, limit: int) -> ThreadContents:
    """A thread's contents. Raises ``NotFound`` when the caller may see nothing of it."""
    query, params = _counting_query(only, name)
    row = tx.one(query, params)
    if row is None:
        raise NotFound(f"no thread {name[:200]}", hint=Advice(tool_clause("threads lists those there are", "threads")))
    last = checkpoints.find_newest(tx, only.workspaces, name, 2)
    same = len(last) == 2 and last[0].workspace == last[1].workspace
    return ThreadContents(
        thread=_thread(tx, row),
        memories=_memories(tx, only, name, limit),
        parts=_parts(tx, only, name, limit),
        sessions=_visits(tx, name, limit),
        versions=checkpoints.list_versions(tx, only.workspaces, name, limit),
        state=last[0] if last else None,
        diff=checkpoints.diff_states(last[1].state, last[0].state) if same else None,
    )


def _counting_query(only: SearchFilter, name: str | None = None) -> tuple[str, dict[str, Any]]:
    """A query for all threads, or one, with their counts and the number of threads."""
    memories, params = only.over_memories()
    passages, more = only.over_passages()
    saved, places = checkpoints.scope_condition(only.workspaces, None)
    params |= more | places
    one = ""
    if name is not None:
        params["name"] = name
        one = "WHERE name = :name"
    query = (
        "SELECT name, SUM(memories), SUM(passages), SUM(checkpoints), MAX(at), COUNT(*) OVER () FROM ("
        "SELECT m.thread AS name, 1 AS memories, 0 AS passages, 0 AS checkpoints, m.updated_at AS at FROM memories m"
        f" WHERE m.thread IS NOT NULL AND {memories}"
        " UNION ALL SELECT p.thread, 0, 1, 0, p.modified_at FROM passages p"
        f" WHERE p.thread IS NOT NULL AND p.kind <> 'memory' AND {passages}"
        " UNION ALL SELECT c.thread, 0, 0, 1, c.created_at FROM checkpoints c"
        f" WHERE c.thread <> '' AND {saved}) carriers {one} GROUP BY name"
    )
    return query, params


def _thread(tx: Reader, row: Row) -> Thread:
    name, memories, passages, saved, at, _ = row
    sessions = int(tx.value("SELECT COUNT(*) FROM session_threads WHERE thread = :name", {"name": name}))
    return Thread(
        name=name, memories=int(memories), passages=int(passages), checkpoints=int(saved), sessions=sessions, last_at=at
    )


def _memories(tx: Reader, only: SearchFilter, name: str, limit: int) -> list[ThreadMemory]:
    where, params = only.over_memories()
    rows = tx.all(
        "SELECT m.id, m.type, m.title, m.author, m.created_at FROM memories m"
        f" WHERE m.thread = :name AND {where} ORDER BY m.seq DESC LIMIT :limit",
        {**params, "name": name, "limit": limit},
    )
    return [ThreadMemory(*row) for row in rows]


def _parts(tx: Reader, only: SearchFilter, name: str, limit: int) -> list[ThreadItem]:
    where, params = only.over_passages()
    rows = tx.all(
        "SELECT p.kind, n.path, n.title FROM passages p JOIN notes n ON n.seq = p.item"
        f" WHERE p.thread = :name AND p.kind = 'note' AND {where}"
        " GROUP BY p.kind, n.path, n.title ORDER BY MAX(p.seq) DESC LIMIT :limit",
        {**params, "name": name, "limit": limit},
    )
    return [ThreadItem(*row) for row in rows]


def _visits(tx: Reader, name: str, limit: int) -> list[ThreadVisit]:
    rows = tx.all(
        "SELECT s.who, s.client, s.status, s.goal, t.at FROM session_threads t JOIN sessions s ON s.seq = t.session"
        " WHERE t.thread = :name ORDER BY s.started_at DESC, s.seq DESC LIMIT :limit",
        {"name": name, "limit": limit},
    )
    return [ThreadVisit(*row) for row in rows]
