"""Checkpoints: the versioned state of a piece of work, kept by its agents for each workspace and thread."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from uuid_utils import uuid7

from vaults import clock
from vaults.activity_log.sessions import Session
from vaults.change_notes import owned_hash
from vaults.context import run_in
from vaults.db.sql import Reader, Row, Writer, bind_list
from vaults.domain.continuity import claims
from vaults.domain.text.fields import hash_parts
from vaults.search import tokenizer
from vaults.vault import Vault

MAX_VERSIONS_KEPT = 50
"""Versions kept per workspace and thread."""

MAX_STATE_KB = 64
"""Max kilobytes of a state as JSON."""

MAX_PATHS_SHOWN = 50
"""Max paths of each kind that a diff names."""

EMPTY_TOKENS = 1
"""Tokens of ``{}``, known without loading a vocabulary."""

_NEWEST_FIRST = "created_at DESC, seq DESC"
"""By their times, because an import may bring older ones later."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One version of a state. ``tokens`` of the state, in cl100k; ``thread`` None: of no thread."""

    id: str
    workspace: str
    thread: str | None
    reason: str
    state: dict[str, Any]
    tokens: int
    who: str
    created_at: str


@dataclass(frozen=True, slots=True)
class CheckpointVersion:
    """A checkpoint without its state."""

    id: str
    workspace: str
    reason: str
    tokens: int
    who: str
    created_at: str


@dataclass(frozen=True, slots=True)
class StateDiff:
    """Paths (JSON Pointer) that one state has and the one before had not, and so on; ``truncated``: there are more."""

    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class SavedCheckpoint:
    """A state that was stored. ``changed``: from the version before, None where it is the first. ``warnings``: secrets
    that were taken out."""

    state_id: str
    workspace: str
    thread: str | None
    reason: str
    tokens: int
    created_at: str
    changed: StateDiff | None = None
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CheckpointDraft:
    """A state to save for a workspace (its key) and a thread."""

    workspace: str
    thread: str | None
    reason: str
    state: dict[str, Any]


async def save(vault: Vault, session: Session, draft: CheckpointDraft) -> SavedCheckpoint:
    """Make a state the current one of its workspace and thread. Saving the current one again, for the same reason,
    stores nothing new."""
    vault.check_writable()
    text = json.dumps(draft.state, ensure_ascii=False, separators=(",", ":"))
    tokens = await run_in(vault.shared.pool, tokenizer.count_tokens, text) if draft.state else EMPTY_TOKENS
    row = await claims.refresh_session_row(vault, session)

    def write(tx: Writer) -> SavedCheckpoint:
        last = find_current(tx, draft.workspace, draft.thread)
        changed = diff_states(last.state, draft.state) if last else None
        if last is not None and changed == StateDiff() and last.reason == draft.reason:
            return _to_saved(last, changed)
        new = Checkpoint(
            id=str(uuid7()),
            workspace=draft.workspace,
            thread=draft.thread,
            reason=draft.reason,
            state=draft.state,
            tokens=tokens,
            who=session.who,
            created_at=max(clock.now(), read_newest_time(tx)),  # also after the clock was set back
        )
        _insert(tx, new, text, row, session.owner)
        return _to_saved(new, changed)

    return await vault.db.write(write)


def _to_saved(new: Checkpoint, changed: StateDiff | None) -> SavedCheckpoint:
    return SavedCheckpoint(
        state_id=new.id,
        workspace=new.workspace,
        thread=new.thread,
        reason=new.reason,
        tokens=new.tokens,
        created_at=new.created_at,
        changed=changed,
    )


def _insert(tx: Writer, new: Checkpoint, text: str, row: int, owner: str) -> None:
    scope = {"workspace": new.workspace, "thread": new.thread or ""}
    tx.note_change("checkpoint", new.id, None, owned_hash(new.id, hash_parts(text)))
    tx.insert(
        "INSERT INTO checkpoints (id, workspace, thread, reason, state, tokens, session, owner, who, created_at)"
        " VALUES (:id, :workspace, :thread, :reason, :state, :tokens, :session, :owner, :who, :created_at)",
        {
            **scope, "id": new.id, "reason": new.reason, "state": text, "tokens": new.tokens, "session": row,
            "owner": owner, "who": new.who, "created_at": new.created_at,
        },
    )  # fmt: skip
    tx.run(
        "DELETE FROM checkpoints WHERE seq IN (SELECT seq FROM checkpoints WHERE workspace = :workspace"
        f" AND thread = :thread ORDER BY {_NEWEST_FIRST} LIMIT -1 OFFSET :kept)",
        {**scope, "kept": MAX_VERSIONS_KEPT},
    )


def read_newest_time(tx: Reader) -> str:
    """When the newest checkpoint was made; empty where there is none."""
    return str(tx.value("SELECT MAX(created_at) FROM checkpoints") or "")


_COLUMNS = "id, workspace, thread, reason, state, tokens, who, created_at"


def find_current(tx: Reader, workspace: str, thread: str | None) -> Checkpoint | None:
    """The current state of a workspace (its key) and a thread, or of no thread."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM checkpoints WHERE workspace = :workspace AND thread = :thread"
        f" ORDER BY {_NEWEST_FIRST} LIMIT 1",
        {"workspace": workspace, "thread": thread or ""},
    )
    return _from_row(row) if row is not None else None


def find_latest(tx: Reader, workspaces: tuple[str, ...], thread: str | None = None) -> Checkpoint | None:
    """The newest state in these workspaces, or in all if none are given; of ``thread``, or of any."""
    found = find_newest(tx, workspaces, thread, 1)
    return found[0] if found else None


def find_newest(tx: Reader, workspaces: tuple[str, ...], thread: str | None, limit: int) -> list[Checkpoint]:
    """Like ``find_latest``, but several, newest first."""
    where, params = scope_condition(workspaces, thread)
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM checkpoints c WHERE {where} ORDER BY {_NEWEST_FIRST} LIMIT :limit",
        {**params, "limit": limit},
    )
    return [_from_row(row) for row in rows]


def list_versions(tx: Reader, workspaces: tuple[str, ...], thread: str, limit: int) -> list[CheckpointVersion]:
    """Kept versions of a thread, newest first, without the states."""
    where, params = scope_condition(workspaces, thread)
    rows = tx.all(
        "SELECT c.id, c.workspace, c.reason, c.tokens, c.who, c.created_at FROM checkpoints c"
        f" WHERE {where} ORDER BY {_NEWEST_FIRST} LIMIT :limit",
        {**params, "limit": limit},
    )
    return [CheckpointVersion(*row) for row in rows]


def scope_condition(workspaces: tuple[str, ...], thread: str | None) -> tuple[str, dict[str, Any]]:
    """A condition over alias ``c`` of checkpoints, and its parameters."""
    among, params = bind_list("workspace", workspaces)
    clauses = [f"c.workspace IN ({among})"] if workspaces else []
    if thread is not None:
        clauses.append("c.thread = :thread")
        params["thread"] = thread
    return " AND ".join(clauses) or "1 = 1", params


def _from_row(row: Row) -> Checkpoint:
    identity, workspace, thread, reason, state, *rest = row
    return Checkpoint(identity, workspace, thread or None, reason, json.loads(state), *rest)


def diff_states(before: dict[str, Any], after: dict[str, Any]) -> StateDiff:
    """What changed between two states: objects are compared key by key, everything else as a whole. Pure."""
    found: dict[str, list[str]] = {"added": [], "removed": [], "changed": []}
    for kind, path in _changes(before, after, ""):
        found[kind].append(path)
    cut = any(len(paths) > MAX_PATHS_SHOWN for paths in found.values())
    return StateDiff(**{kind: sorted(paths)[:MAX_PATHS_SHOWN] for kind, paths in found.items()}, truncated=cut)


def _changes(before: dict[str, Any], after: dict[str, Any], at: str) -> Iterator[tuple[str, str]]:
    for key in before.keys() | after.keys():
        path = f"{at}/{_escape_pointer(key)}"
        if key not in before:
            yield "added", path
        elif key not in after:
            yield "removed", path
        elif isinstance(before[key], dict) and isinstance(after[key], dict):
            yield from _changes(before[key], after[key], path)
        elif _canonical(before[key]) != _canonical(after[key]):
            yield "changed", path


def _canonical(value: Any) -> str:
    """A text to compare by, because to Python 1, 1.0 and true are equal."""
    return json.dumps(value, sort_keys=True)


def _escape_pointer(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
