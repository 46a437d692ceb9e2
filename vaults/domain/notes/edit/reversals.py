"""Undoing a change and restoring a version: each is a new change, which can be undone in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.notes.commit import journal
from vaults.domain.notes.commit.change_diffs import diff_files
from vaults.domain.notes.commit.journal import ChangeRecord, FileChange, FileRecord, NoteChange
from vaults.domain.notes.commit.transaction import commit
from vaults.domain.notes.edit.edit_results import EditResult
from vaults.domain.notes.edit.line_revert import revert_change
from vaults.domain.notes.edit.moves import MAX_NAMED
from vaults.domain.notes.index.extraction import compute_digest, etag_of
from vaults.domain.notes.policy_paths import is_policy, parse_path
from vaults.domain.notes.read import change_history
from vaults.errors import Conflict, Forbidden, InvalidArgument, NotFound, StrongroomError
from vaults.files.paths import collision_key
from vaults.files.tree import FileContent
from vaults.vault import Vault

TOOL = "history"

MAX_CHANGES_READ = 100
"""Max recent changes searched for the caller's last one."""

MAX_SUMMARY = 200


@dataclass(frozen=True, slots=True)
class UndoRequest:
    """What to undo or restore, as requested."""

    ref: str | None = None  # a change's id or, to restore, a commit
    path: str | None = None
    version: Literal["before", "after"] = "after"  # to restore: which side of the change
    dry_run: bool = False
    etag: str | None = None
    session: str | None = None
    governs: bool = False  # the caller may change policies


@dataclass(frozen=True, slots=True)
class _UndoStep:
    """One file of a change to undo. ``now``: its present path, following later moves."""

    file: FileRecord
    before: bytes | None
    after: bytes | None
    now: str


class _CannotUndo(Exception):
    """A file that cannot be reverted, and why."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason


async def undo(vault: Vault, actor: Actor, request: UndoRequest) -> EditResult:
    """Undo a change in all its files or in none: anybody's with ``ref``, else the caller's own last one (of a note,
    with ``path``) that is not yet undone. What was written since stays; where it touches the change's own lines, that
    is a ``Conflict``. Undoing an undo does the change again."""
    async with vault.notes.writing():
        path = _resolve_path(vault, request)
        record, steps = await vault.db.read(lambda tx: _choose_change(tx, actor, request.ref, path))
        files = await run_in(vault.shared.pool, _reverse_change, vault, record, steps)
        summary, path = _undo_summary(record.summary), record.files[0].path
        return await _commit_or_show(
            vault, actor, request, NoteChange(TOOL, summary, files, request.session, record.id), path
        )


def _resolve_path(vault: Vault, request: UndoRequest) -> str | None:
    return parse_path(vault.notes.settings.policies, request.path) if request.path is not None else None


def _choose_change(tx: Reader, actor: Actor, ref: str | None, path: str | None) -> tuple[ChangeRecord, list[_UndoStep]]:
    record = _find_named(tx, ref) if ref is not None else _find_last(tx, actor, path)
    if journal.is_undone(tx, record.id):
        raise Conflict("this change was taken back already", hint="undo the change that did so, to have it again")
    steps = []
    for each in record.files:
        edited = each.before is not None and each.after is not None and each.to is None
        now = journal.follow_moves(tx, each.path, record.seq) if edited else each.target
        steps.append(
            _UndoStep(
                each,
                change_history.read_kept_version(tx, each.before),
                change_history.read_kept_version(tx, each.after),
                now,
            )
        )
    return record, steps


def _find_named(tx: Reader, ref: str) -> ChangeRecord:
    record = change_history.find_named(tx, ref, None)
    if record is None:
        raise InvalidArgument("ref", "must be the id of a change", hint="restore brings a version of a commit back")
    return record


def _find_last(tx: Reader, actor: Actor, path: str | None) -> ChangeRecord:
    for record in journal.list_changes(tx, path, MAX_CHANGES_READ, who=actor.identity):
        if record.undoes is None and not journal.is_undone(tx, record.id):
            return record
    raise NotFound("you have no change left to take back", hint="log lists all changes; name one in ref")


def _reverse_change(vault: Vault, record: ChangeRecord, steps: Sequence[_UndoStep]) -> list[FileChange]:
    """The file changes that undo a change, last file first. Blocking. Raises ``Conflict`` naming every file that cannot
    be reverted."""
    files: list[FileChange] = []
    stuck: list[_CannotUndo] = []
    for step in reversed(steps):
        try:
            back = _reverse_file(vault, step)
        except _CannotUndo as failure:
            stuck.append(failure)
        else:
            files += [back] if back is not None else []
    if not stuck:
        return files
    first, more = stuck[-1], f", nor can {len(stuck) - 1} more" if len(stuck) > 1 else ""
    raise Conflict(
        f"'{first.path}' cannot be taken back: {first.reason}{more}; nothing was changed",
        hint="diff shows the change; restore with version: before brings the whole note back as it was",
        change=record.id,
        paths=[each.path for each in reversed(stuck)][:MAX_NAMED],
    )


def _reverse_file(vault: Vault, step: _UndoStep) -> FileChange | None:
    """The change that reverts one file; None where there is nothing to do. Raises ``_CannotUndo``."""
    here = _read_content(vault, step.now)
    if step.after is None:
        return _recreate_file(step, here)
    if here is None:
        raise _CannotUndo(step.now, "it is not there any more")
    if step.before is None:
        if here.data != step.after:
            raise _CannotUndo(step.now, "it was changed since it was made")
        return FileChange(step.now, here.data, None, stamp=here.stamp)
    text = step.before if here.data == step.before else revert_change(step.before, step.after, here.data)
    if text is None:
        raise _CannotUndo(step.now, "what the change wrote there was changed since")
    if step.file.to is not None:
        _check_free(vault, step.file)
        return FileChange(step.now, here.data, text, step.file.path, here.stamp)
    return FileChange(step.now, here.data, text, stamp=here.stamp) if text != here.data else None


def _recreate_file(step: _UndoStep, here: FileContent | None) -> FileChange | None:
    """The change that brings a deleted note back; None if it is already there."""
    if here is None:
        return FileChange(step.file.path, None, step.before)
    if here.data != step.before:
        raise _CannotUndo(step.now, "another note stands there now")
    return None


def _check_free(vault: Vault, file: FileRecord) -> None:
    existing = vault.notes.tree.collision(file.path)
    if existing is not None and (existing != file.to or collision_key(existing) != collision_key(file.path)):
        raise _CannotUndo(file.target, f"'{existing}' stands where it was")


def _read_content(vault: Vault, path: str) -> FileContent | None:
    try:
        return vault.notes.tree.read(path, vault.notes.settings.max_note)
    except NotFound:
        return None


def _undo_summary(summary: str) -> str:
    """The summary of an undo: "took back" and "did again" alternate."""
    for prefix, next_ in (("took back: ", "did again: "), ("did again: ", "took back: ")):
        if summary.startswith(prefix):
            return next_ + summary.removeprefix(prefix)
    return f"took back: {summary}"[:MAX_SUMMARY]


async def _commit_or_show(
    vault: Vault, actor: Actor, request: UndoRequest, change: NoteChange, path: str
) -> EditResult:
    """Commit the change, or on a dry run only show it. ``path``: the note the answer is about."""
    files = change.files
    _check_governed(vault, request, files)
    this = next((each for each in files if path in (each.path, each.target)), None)
    if this is not None:
        _check_etag(this, request.etag)
    others = [each.target for each in files if each is not this][:MAX_NAMED] or None
    if request.dry_run or not files:
        diff = await run_in(vault.shared.pool, diff_files, files) if request.dry_run else None
        here = this.before if this else await run_in(vault.shared.pool, _read_data, vault, path)
        return EditResult(path, _to_etag(here), changed=False, diff=diff, others=others)
    done = await commit(vault, actor, change)
    return EditResult(path, done.etags.get(path), changed=True, change=done.id, others=others)


def _check_governed(vault: Vault, request: UndoRequest, files: Sequence[FileChange]) -> None:
    """Raise ``Forbidden`` for policies: a caller who may not write them may not bring one back either."""
    folder = vault.notes.settings.policies
    if not request.governs and any(is_policy(folder, path) for each in files for path in (each.path, each.target)):
        raise Forbidden("this changes policies, which only an admin does", hint="diff shows what it changed")


def _check_etag(file: FileChange, etag: str | None) -> None:
    present = _to_etag(file.before)
    if etag is not None and etag != present:
        raise Conflict(f"{file.path} has changed since it was read", hint="read it again", path=file.path, etag=present)


def _to_etag(data: bytes | None) -> str | None:
    return etag_of(compute_digest(data)) if data is not None else None


def _read_data(vault: Vault, path: str) -> bytes | None:
    try:
        found = _read_content(vault, path)
    except StrongroomError:
        return None
    return found.data if found else None


async def restore(vault: Vault, actor: Actor, request: UndoRequest) -> EditResult:
    """Write a note as it was after (or before) a change or commit, by default its last change, even if it was deleted
    or moved since. Raises ``NotFound``, ``InvalidArgument``."""
    async with vault.notes.writing():
        path, data = await _requested_version(vault, request)
        if data is None:
            raise InvalidArgument(
                "version", f"{request.version}: '{path}' did not exist then", hint="take the other one"
            )
        return await _write_version(vault, actor, request, (path, data), f"restored {path}")


async def restore_bytes(
    vault: Vault, actor: Actor, request: UndoRequest, version: tuple[str, bytes], summary: str
) -> EditResult:
    """Write a note, by path, with these very bytes, which come from a backup. What stood there stays in the history.
    Raises ``Conflict``, ``InvalidArgument``."""
    async with vault.notes.writing():
        return await _write_version(vault, actor, request, version, summary)


async def _write_version(
    vault: Vault, actor: Actor, request: UndoRequest, version: tuple[str, bytes], summary: str
) -> EditResult:
    path, data = version
    here = await run_in(vault.shared.pool, _read_content, vault, path)
    if here is None:
        await run_in(vault.shared.pool, _check_new, vault, path)
    file = FileChange(path, here.data if here else None, data, stamp=here.stamp if here else None)
    change = NoteChange(TOOL, summary[:MAX_SUMMARY], [file] if file.before != data else [], request.session)
    return await _commit_or_show(vault, actor, request, change, path)


async def _requested_version(vault: Vault, request: UndoRequest) -> tuple[str, bytes | None]:
    """The path and content of the requested version."""
    path = _resolve_path(vault, request)
    ref = request.ref
    record = await vault.db.read(
        lambda tx: change_history.find_named(tx, ref, path) if ref is not None else change_history.find_last(tx, path)
    )
    if record is not None:
        return await vault.db.read(lambda tx: _pick_version(tx, record, path, request.version))
    if ref is None:
        raise NotFound("no tool has changed this note yet", hint="with path, log lists commits too; name one in ref")
    found = await change_history.read_commit(vault, ref, path)
    return found.path, found.before if request.version == "before" else found.after


def _pick_version(
    tx: Reader, record: ChangeRecord, path: str | None, which: Literal["before", "after"]
) -> tuple[str, bytes | None]:
    files = [each for each in record.files if path is None or path in (each.path, each.to)]
    if len(files) != 1:
        raise InvalidArgument("path", f"must be one of the {len(record.files)} notes this change concerned")
    file = files[0]
    if which == "before":
        return path or file.path, change_history.read_kept_version(tx, file.before)
    return path or file.target, change_history.read_kept_version(tx, file.after)


def _check_new(vault: Vault, path: str) -> None:
    existing = vault.notes.tree.collision(path)
    if existing is not None:
        raise Conflict(f"'{existing}' stands where '{path}' would be", hint="move it away first", path=existing)
