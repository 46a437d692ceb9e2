"""Changing many notes as one transaction: all or none, in the journal as one change that is undone as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from vaults.context import run_in
from vaults.domain.actors import Actor
from vaults.domain.notes.commit.change_diffs import diff_files
from vaults.domain.notes.commit.journal import FileChange, NoteChange
from vaults.domain.notes.commit.transaction import commit
from vaults.domain.notes.read.note_lookup import to_open_note
from vaults.errors import Conflict, InvalidArgument, NotFound, TooLarge
from vaults.markdown.encoding import NoteSource, encode
from vaults.vault import Vault

RewriteStep = Callable[[str, str], str]
"""A pure step from a note's path and text to its new text."""


@dataclass(frozen=True, slots=True)
class BulkEdit:
    """A change to many notes as a tool requests it. ``summary``: what it does, for the history."""

    tool: str
    summary: str
    dry_run: bool = True
    session: str | None = None


@dataclass(frozen=True, slots=True)
class BulkEditResult:
    """What a bulk edit changed, or on a dry run would change."""

    paths: list[str]
    change: str | None = None  # the id by which ``history`` undoes all of it
    diff: str | None = None  # on a dry run
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class BulkDrafts:
    """Files as they will be, and warnings about those that could not be read."""

    files: list[FileChange]
    warnings: list[str]


async def rewrite_notes(
    vault: Vault, actor: Actor, paths: Iterable[str], step: RewriteStep, bulk: BulkEdit
) -> BulkEditResult:
    """Apply a pure step to notes and commit those it changes. If another program saves one meanwhile, everything is
    retried once. Raises ``Conflict``, ``StorageFull``, ``ReadOnly``, and what the step raises: then nothing is
    changed."""
    wanted = list(dict.fromkeys(paths))
    if bulk.dry_run:
        return await commit_drafts(
            vault, actor, await run_in(vault.shared.pool, draft_rewrites, vault, wanted, step), bulk
        )
    async with vault.notes.writing():
        found = await run_in(vault.shared.pool, draft_rewrites, vault, wanted, step)
        try:
            return await commit_drafts(vault, actor, found, bulk)
        except Conflict:
            found = await run_in(vault.shared.pool, draft_rewrites, vault, wanted, step)
            return await commit_drafts(vault, actor, found, bulk)


def draft_rewrites(vault: Vault, paths: Sequence[str], step: RewriteStep) -> BulkDrafts:
    """Apply a pure step to notes without committing. Blocking."""
    found = BulkDrafts([], [])
    for path in paths:
        try:
            note = to_open_note(path, vault.notes.tree.read(path, vault.notes.settings.max_note))
        except NotFound:
            continue  # gone since it was listed
        except (InvalidArgument, TooLarge):
            found.warnings.append(f"{path} cannot be read as text; it was left as it is")
            continue
        text = step(path, note.text)
        if text != note.text:
            after = encode(NoteSource(text, note.source.bom))
            if len(after) > vault.notes.settings.max_note:
                raise TooLarge(f"{path} would be longer than a note may be", size=len(after))
            found.files.append(FileChange(path, note.data, after, stamp=note.stamp))
    return found


async def commit_drafts(vault: Vault, actor: Actor, found: BulkDrafts, bulk: BulkEdit) -> BulkEditResult:
    """Commit drafts as one change, or only show the diff. Except for a dry run, the caller must hold
    ``vault.notes.writing()`` from before the drafts were made."""
    paths = [each.target for each in found.files]
    if bulk.dry_run or not found.files:
        diff = await run_in(vault.shared.pool, diff_files, found.files) if bulk.dry_run else None
        return BulkEditResult(paths, diff=diff, warnings=found.warnings)
    done = await commit(vault, actor, NoteChange(bulk.tool, bulk.summary, found.files, bulk.session))
    return BulkEditResult(paths, done.id, warnings=found.warnings)
