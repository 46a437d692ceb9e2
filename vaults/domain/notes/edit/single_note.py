"""The steps shared by all tools that change the text of one note: open, check, revise, commit, answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

from vaults.context import run_in
from vaults.domain.actors import Actor
from vaults.domain.graph.links import autolink_step
from vaults.domain.notes.commit import change_diffs, git_commits
from vaults.domain.notes.commit.journal import NoteChange
from vaults.domain.notes.commit.transaction import CommittedChange, commit
from vaults.domain.notes.edit import conflicts
from vaults.domain.notes.edit.amendments import Amendment, EditOptions
from vaults.domain.notes.edit.drafts import AmendedNote, DraftNotes
from vaults.domain.notes.edit.edit_results import EditResult, NewLink
from vaults.errors import AlreadyExists, Conflict
from vaults.vault import Vault


async def apply_amendment(vault: Vault, actor: Actor, amendment: Amendment, options: EditOptions) -> EditResult:
    """Make a change. One that changes nothing is neither written nor recorded. Raises ``NotFound``, ``Conflict`` with
    the present text and etag, ``TooLarge`` and what the pure step raises."""
    async with _writing_turn(vault, options):
        draft = DraftNotes(vault)
        base = await draft.base(amendment)
        try:
            base.check(options.etag)
            done = await draft.prepare_amended(base, amendment)
            if options.dry_run or done.file.before == done.file.after:
                return await _unchanged_result(vault, done, options)
            committed = await _commit(vault, actor, done, options)
        except Conflict as failure:
            stands = (base.path, base.source.text, base.etag)
            raise await conflicts.keep_caller_version(vault, actor, failure, stands, (amendment, options)) from failure
    return _to_result(done, committed, await _wait_for_git(vault, committed, options))


@asynccontextmanager
async def _writing_turn(vault: Vault, options: EditOptions) -> AsyncIterator[None]:
    """Hold the notes' writing lock; a dry run changes nothing and needs none."""
    if options.dry_run:
        yield
        return
    async with vault.notes.writing():
        yield


async def _commit(vault: Vault, actor: Actor, done: AmendedNote, options: EditOptions) -> CommittedChange:
    """Commit one file. A conflict that arises only now, because another program saved meanwhile, carries the present
    text like one that is found at once."""
    file = done.file
    change = NoteChange(options.tool, f"{done.revision.summary} {file.path}", [file], options.session)
    try:
        return await commit(
            vault, actor, change, partial(autolink_step.record_links, actor, file.path, done.revision.linked)
        )
    except AlreadyExists as failure:
        raise await conflicts.name_taken(vault, file.path) from failure
    except Conflict as failure:
        raise await conflicts.with_present_text(vault, file.path, failure) from failure


async def _wait_for_git(vault: Vault, committed: CommittedChange, options: EditOptions) -> list[str]:
    """Wait until Git has the change, if the caller asked for that. Returns a warning if Git does not get it."""
    if not options.wait or await git_commits.ensure_committed(vault, committed.seq) is not None:
        return []
    return ["there is no Git commit of it: the vault keeps no Git history, or cannot write it now; status tells"]


async def _unchanged_result(vault: Vault, done: AmendedNote, options: EditOptions) -> EditResult:
    """The answer where nothing was changed: there was nothing to change, or it was a dry run."""
    diff = await run_in(vault.shared.pool, change_diffs.diff_files, [done.file]) if options.dry_run else None
    links = _to_added_links(done) if options.dry_run else None
    return EditResult(done.base.path, done.base.etag, changed=False, warnings=done.warnings, diff=diff, linked=links)


def _to_added_links(done: AmendedNote) -> list[NewLink] | None:
    return [NewLink(each.term, each.target, each.line) for each in done.revision.linked] or None


def _to_result(done: AmendedNote, committed: CommittedChange, further: Sequence[str]) -> EditResult:
    """The answer after a change. ``further``: warnings."""
    revision, path = done.revision, done.base.path
    return EditResult(
        path,
        committed.etags.get(path),
        changed=True,
        warnings=[*done.warnings, *further],
        change=committed.id,
        region=revision.region,
        first_line=revision.first_line,
        last_line=revision.last_line,
        linked=_to_added_links(done),
    )
