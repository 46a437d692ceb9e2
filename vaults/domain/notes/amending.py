"""What every tool that changes the text of one note does around its own pure step: open, check, commit, answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from vaults.context import run_in
from vaults.domain.memory import Actor
from vaults.domain.notes import colliding, keeping, showing
from vaults.domain.notes.changed import Changed
from vaults.domain.notes.committing import Committed, commit
from vaults.domain.notes.journal import Change, FileChange
from vaults.domain.notes.opening import Open, check_etag, opened
from vaults.domain.notes.terms import Amendment, Revise, Revision, Terms
from vaults.errors import AlreadyExists, Conflict, NotFound, TooLarge
from vaults.files.paths import note_path
from vaults.markdown.source import Source, encode
from vaults.vault import Vault

POOLED = 64 * 1024
"""Characters from which a note is worked on by a thread: everybody else waits for the event loop."""


@dataclass(frozen=True, slots=True)
class Base:
    """What a change starts from: a note, or the beginning of one that is still to be made, with its own pure step."""

    path: str
    note: Open | None
    source: Source
    warnings: list[str]
    revise: Revise | None = None

    @property
    def etag(self) -> str | None:
        return self.note.etag if self.note else None


async def amend(vault: Vault, actor: Actor, amendment: Amendment, terms: Terms) -> Changed:
    """Make a change. Nothing is written, and nothing is in the history, where it changes nothing. Raises ``NotFound``,
    ``Conflict`` with the present text and etag, ``TooLarge`` and what the pure step raises."""
    async with _turn(vault, terms):
        base = await _base(vault, amendment)
        try:
            _check(base, terms)
            revision = await _revised(vault, base.source.text, base.revise or amendment.revise)
            file = _file_of(base, _fitting(vault, Source(revision.text, base.source.bom)))
            if terms.dry_run or file.before == file.after:
                return await _unmade(vault, base, file, revision, terms)
            committed = await _committing(vault, actor, file, revision, terms)
        except Conflict as failure:
            stands = (base.path, base.source.text, base.etag)
            raise await colliding.kept(vault, actor, failure, stands, (amendment, terms)) from failure
    return _done(base, revision, committed, await _settled(vault, committed, terms))


@asynccontextmanager
async def _turn(vault: Vault, terms: Terms) -> AsyncIterator[None]:
    """Be the only one that changes notes; a dry run changes none, and needs no leave to write."""
    if terms.dry_run:
        yield
        return
    async with vault.notes.writing():
        yield


async def _base(vault: Vault, amendment: Amendment) -> Base:
    if amendment.start == "note":
        note = await opened(vault, amendment.path)
        return Base(note.path, note, note.source, note.warnings)
    path = note_path(amendment.path)
    if amendment.start == "either":
        with suppress(NotFound, Conflict):
            note = await opened(vault, path)
            if note.path == path:
                return Base(path, note, note.source, note.warnings)
    await run_in(vault.shared.pool, colliding.check_free, vault, path)
    fresh = await amendment.fresh()
    return Base(path, None, Source(fresh.text, bom=False), fresh.warnings, fresh.revise)


def _check(base: Base, terms: Terms) -> None:
    """Raise ``Conflict`` when the caller has read another version, or one that is gone."""
    if base.note is not None:
        check_etag(base.note, terms.etag)
    elif terms.etag is not None:
        raise colliding.gone(base.path)


async def _revised(vault: Vault, text: str, revise: Revise) -> Revision:
    """The pure step, on a thread where the note is long."""
    return revise(text) if len(text) < POOLED else await run_in(vault.shared.pool, revise, text)


def _fitting(vault: Vault, source: Source) -> bytes:
    """The bytes of a note. Raises ``TooLarge`` for more than a note may have."""
    data, most = encode(source), vault.notes.settings.max_note
    if len(data) > most:
        message = f"the note would have {len(data):,} bytes; {most:,} is the most"
        raise TooLarge(message, hint="put a part of it into another note", size=len(data), limit=most)
    return data


def _file_of(base: Base, data: bytes) -> FileChange:
    """The change of the one file."""
    if base.note is None:
        return FileChange(base.path, None, data)
    return FileChange(base.path, base.note.data, data, stamp=base.note.stamp)


async def _committing(vault: Vault, actor: Actor, file: FileChange, revision: Revision, terms: Terms) -> Committed:
    """``commit`` of one file. A conflict that shows only now, because another program saved meanwhile, tells what
    stands there as one does that shows at once."""
    change = Change(terms.tool, f"{revision.summary} {file.path}", [file], terms.session)
    try:
        return await commit(vault, actor, change)
    except AlreadyExists as failure:
        raise await colliding.occupied(vault, file.path) from failure
    except Conflict as failure:
        raise await colliding.overtaken(vault, file.path, failure) from failure


async def _settled(vault: Vault, committed: Committed, terms: Terms) -> list[str]:
    """Where the caller asked for that, wait until Git has the change; a warning where it does not."""
    if not terms.wait or await keeping.kept(vault, committed.seq) is not None:
        return []
    return ["there is no Git commit of it: the vault keeps no Git history, or cannot write it now; status tells"]


async def _unmade(vault: Vault, base: Base, file: FileChange, revision: Revision, terms: Terms) -> Changed:
    """The answer where nothing was changed: nothing had to be, or it was a dry run."""
    diff = await run_in(vault.shared.pool, showing.shown, [file]) if terms.dry_run else None
    return Changed(base.path, base.etag, changed=False, warnings=[*base.warnings, *revision.warnings], diff=diff)


def _done(base: Base, revision: Revision, committed: Committed, further: Sequence[str]) -> Changed:
    """The answer after a change. ``further``: warnings."""
    return Changed(
        base.path,
        committed.etags.get(base.path),
        changed=True,
        warnings=[*base.warnings, *revision.warnings, *further],
        change=committed.id,
        region=revision.region,
        first_line=revision.first_line,
        last_line=revision.last_line,
    )
