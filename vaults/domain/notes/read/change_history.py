"""The history of notes: changes from the journal, and commits of the Git repository around the notes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from heapq import merge

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.notes.commit import journal
from vaults.domain.notes.commit.change_diffs import diff_files
from vaults.domain.notes.commit.journal import ChangeRecord, FileChange
from vaults.domain.notes.policy_paths import parse_path
from vaults.domain.notes.read.note_lookup import open_note
from vaults.errors import InvalidArgument, NotFound
from vaults.history.errors import HistoryUnavailable
from vaults.history.git import Commit, GitHistory
from vaults.search import tokenizer
from vaults.vault import Vault

MAX_COMMITS = 1000
"""Max commits of one note that are examined."""

MAX_PATHS = 20
"""Max paths that one entry of a listing names."""

_COMMIT = re.compile(r"[0-9a-f]{7,40}")


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A change that was made. ``source``: journal, or git for a commit, whose id is the entry's. ``undone``: it was
    taken back; ``undoes``: the change it took back; ``overwritten``: notes in which a program outside wrote over it;
    ``git``: the commit that holds it. ``files``: how many notes it concerns, if more than ``paths``."""

    id: str
    at: str
    author: str
    tool: str
    summary: str
    source: str
    paths: list[str]
    files: int | None = None
    session: str | None = None
    undone: bool | None = None
    undoes: str | None = None
    overwritten: list[str] | None = None
    git: str | None = None


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Newest first. ``cursor``: what to go on ``before``, if there is more."""

    changes: list[HistoryEntry]
    cursor: str | None
    truncated: bool | None  # whether there is more
    warnings: list[str] = field(default_factory=list)


async def list_history(vault: Vault, path: str | None, limit: int, before: str | None = None) -> HistoryPage:
    """Changes to a note, or to all, older than the change or commit ``before``. For a note this includes commits of its
    repository that hold no recorded change. Raises ``NotFound`` for an unknown ``before``."""
    wanted = parse_path(vault.notes.settings.policies, path) if path is not None else None
    commits, warnings = await _read_commits(vault, wanted) if wanted is not None else ([], [])
    edge = await vault.db.read(lambda tx: _find_position(tx, before, commits)) if before is not None else None

    def read(tx: Reader) -> list[HistoryEntry]:
        records = journal.list_changes(tx, wanted, limit + 1, edge.seq if edge else None)
        by_tools = [_entry_of_record(tx, each, wanted) for each in records]
        older = [each for each in commits if edge is None or edge.admits(each)]
        recorded = journal.find_recorded_commits(tx, [each.id for each in older])
        by_others = [_entry_of_commit(each) for each in older if each.id not in recorded]
        return list(merge(by_tools, by_others, key=lambda each: each.at, reverse=True))

    found = await vault.db.read(read)
    page, more = found[:limit], len(found) > limit
    return HistoryPage(page, page[-1].id if more else None, more or None, warnings)


async def _read_commits(vault: Vault, path: str) -> tuple[list[Commit], list[str]]:
    try:
        async with vault.history.turn:
            history = await run_in(vault.shared.pool, vault.history.find)
            if history is None:
                return [], []
            found = await run_in(vault.shared.pool, history.log, path, MAX_COMMITS)
    except HistoryUnavailable as failure:
        return [], [failure.message]
    except InvalidArgument:
        return [], []  # Git rejects such a name
    warning = [] if found.complete else ["not all of the repository was looked at: there may be older commits"]
    return found.commits, warning


@dataclass(frozen=True, slots=True)
class _HistoryPosition:
    """Where a listing continues: changes with a lower number, and commits no younger that were not shown yet."""

    seq: int
    second: int
    passed: frozenset[str]

    def admits(self, commit: Commit) -> bool:
        return commit.at <= self.second and commit.id not in self.passed


def _find_position(tx: Reader, before: str, commits: Sequence[Commit]) -> _HistoryPosition:
    record = journal.find_change(tx, before)
    if record is not None:
        return _HistoryPosition(record.seq, int(datetime.fromisoformat(record.at).timestamp()), frozenset())
    place = next((number for number, each in enumerate(commits) if before and each.id.startswith(before)), None)
    if place is None:
        raise NotFound(f"no change {before[:64]}", hint="give the cursor of the listing before")
    commit = commits[place]
    return _HistoryPosition(
        journal.first_after(tx, _format_second(commit.at)),
        commit.at,
        frozenset(each.id for each in commits[: place + 1]),
    )


def _entry_of_record(tx: Reader, record: ChangeRecord, path: str | None) -> HistoryEntry:
    paths = list(dict.fromkeys(each for file in record.files for each in (file.path, file.to) if each))
    if path is not None and len(paths) > MAX_PATHS:
        paths = [path, *(each for each in paths if each != path)]
    lost = [file.target for file in record.files if file.overwritten]
    return HistoryEntry(
        id=record.id,
        at=record.at,
        author=record.author,
        tool=record.tool,
        summary=record.summary,
        source="journal",
        paths=paths[:MAX_PATHS],
        files=len(record.files) if len(paths) > MAX_PATHS else None,
        session=record.session,
        undone=journal.is_undone(tx, record.id) or None,
        undoes=record.undoes,
        overwritten=lost[:MAX_PATHS] or None,
        git=record.git or None,
    )


def _entry_of_commit(commit: Commit) -> HistoryEntry:
    title = commit.message.partition("\n")[0]
    return HistoryEntry(
        id=commit.id,
        at=_format_second(commit.at),
        author=commit.author,
        tool="git",
        summary=title,
        source="git",
        paths=list(commit.paths[:MAX_PATHS]),
    )


def _format_second(second: int) -> str:
    return clock.to_text(datetime.fromtimestamp(second, UTC))


@dataclass(frozen=True, slots=True)
class ChangeDiff:
    """What one change did, as a unified diff. ``ref``: its id; None where there was none."""

    ref: str | None
    diff: str
    truncated: bool


async def diff_change(vault: Vault, ref: str | None, path: str | None, max_tokens: int) -> ChangeDiff:
    """What a change or commit did to a note, or to all notes it concerns. Without ``ref``: the last change. Raises
    ``NotFound``, also for versions that are no longer kept, and for a note that never existed."""
    wanted = parse_path(vault.notes.settings.policies, path) if path is not None else None
    record = await vault.db.read(lambda tx: find_named(tx, ref, wanted) if ref is not None else find_last(tx, wanted))
    if record is None and ref is None:
        if wanted is not None and (found := (await open_note(vault, wanted)).path) != wanted:
            return await diff_change(vault, None, found, max_tokens)
        return ChangeDiff(None, "", truncated=False)
    if record is not None:
        found, files = record.id, await vault.db.read(lambda tx: _read_versions(tx, record, wanted))
    else:
        commit = await read_commit(vault, ref or "", wanted)
        found, files = commit.id, [FileChange(commit.path, commit.before, commit.after)]
    text = await run_in(vault.shared.pool, diff_files, files)
    cut = await run_in(vault.shared.pool, truncate_lines, text, max_tokens)
    return ChangeDiff(found, cut, truncated=cut != text)


def find_last(tx: Reader, path: str | None) -> ChangeRecord | None:
    """The last change to a note, or to any."""
    return next(iter(journal.list_changes(tx, path, 1)), None)


def find_change(tx: Reader, ref: str) -> ChangeRecord | None:
    """The change with this id; None if it may be a commit. Raises ``NotFound``."""
    record = journal.find_change(tx, ref)
    if record is not None and record.state == "done":
        return record
    if record is None and _COMMIT.fullmatch(ref.lower()):
        return None
    raise NotFound(f"no change {ref[:64]}", hint="log lists changes with their ids")


def find_by_commit(tx: Reader, ref: str) -> ChangeRecord | None:
    """The one change that a commit holds; None for a commit without recorded changes. Raises ``InvalidArgument`` with
    the ids if it holds several."""
    ids = journal.find_changes_in_commit(tx, ref.lower())
    if len(ids) > 1:
        named = ", ".join(ids[:MAX_PATHS])
        raise InvalidArgument("ref", f"is a commit of {len(ids)} changes", hint=f"use the id of one: {named}")
    return journal.find_change(tx, ids[0]) if ids else None


def find_named(tx: Reader, ref: str, path: str | None) -> ChangeRecord | None:
    """Like ``find_change``, but a commit given without a note stands for the change it holds."""
    record = find_change(tx, ref)
    return find_by_commit(tx, ref) if record is None and path is None else record


def _read_versions(tx: Reader, record: ChangeRecord, path: str | None) -> list[FileChange]:
    files = [each for each in record.files if path is None or path in (each.path, each.to)]
    if not files:
        raise NotFound(f"the change {record.id} did not concern {path}")
    return [
        FileChange(each.path, read_kept_version(tx, each.before), read_kept_version(tx, each.after), each.to)
        for each in files
    ]


def read_kept_version(tx: Reader, name: str | None) -> bytes | None:
    """A version; None where the note did not exist. Raises ``NotFound`` if it is no longer kept."""
    data = journal.read_version(tx, name)
    if data is None and name is not None:
        raise NotFound("the versions of this change are no longer kept", hint="newer changes took their place")
    return data


@dataclass(frozen=True, slots=True)
class CommitVersions:
    """A note before and after a commit; None where it did not exist."""

    id: str
    path: str
    before: bytes | None
    after: bytes | None


async def read_commit(vault: Vault, ref: str, path: str | None) -> CommitVersions:
    """The note before and after a commit. Raises ``NotFound``, ``HistoryUnavailable``, ``InvalidArgument`` without a
    path."""
    if path is None:
        raise InvalidArgument("path", "is needed with a commit")
    async with vault.history.turn:
        history = await run_in(vault.shared.pool, vault.history.find)
        if history is None:
            raise NotFound(f"no change {ref[:64]}", hint="log lists changes with their ids")
        return await run_in(vault.shared.pool, _read_commit, history, ref.lower(), path)


def _read_commit(history: GitHistory, ref: str, path: str) -> CommitVersions:
    found = next((each for each in history.log(path, MAX_COMMITS).commits if each.id.startswith(ref)), None)
    after = history.content(ref, path)
    if found is None and after is None:
        raise NotFound(f"the commit {ref} holds no {path}", hint="log with a path lists its commits")
    if found is None:  # the commit did not change the note
        return CommitVersions(ref, path, after, after)
    before = history.content(found.parent, path) if found.parent else None
    return CommitVersions(found.id, path, before, after)


def truncate_lines(text: str, max_tokens: int) -> str:
    """As many whole lines as fit into ``max_tokens``. Blocking."""
    if tokenizer.surely_fits([text], max_tokens):
        return text
    lines = text.splitlines(keepends=True)
    return "".join(lines[: tokenizer.count_fitting(lines, max_tokens)])
