"""Changes that collide with another: the name is taken, or the note is no longer what the caller read."""

from __future__ import annotations

from datetime import UTC, datetime

from vaults.advice import Advice, tool_clause
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.notes.commit import journal
from vaults.domain.notes.commit.journal import FileChange, NoteChange
from vaults.domain.notes.commit.transaction import commit
from vaults.domain.notes.edit.amendments import Amendment, EditOptions
from vaults.domain.notes.read.note_lookup import check_etag, to_open_note
from vaults.errors import AlreadyExists, Conflict, InvalidArgument, NotFound, StrongroomError, TooLarge
from vaults.files.failures import blocked_error, spelling_clash_error
from vaults.files.paths import check_creatable, conflict_path
from vaults.markdown.encoding import NotText, decode
from vaults.vault import Vault

MAX_NAMES_TRIED = 100
"""Max file names tried for a version that is saved on a conflict."""


def check_free(vault: Vault, path: str) -> None:
    """Check that a note can be created here. Raises ``InvalidArgument`` for a name that is not valid on every system,
    ``AlreadyExists``, ``Conflict``. Blocking."""
    check_creatable(path)
    check_covered(vault, "path", path)
    existing = vault.notes.tree.collision(path)
    if existing == path:
        raise _name_taken(vault, path)
    if existing is not None:
        raise blocked_error(path, existing) if path.startswith(f"{existing}/") else spelling_clash_error(path, existing)


def check_covered(vault: Vault, field: str, path: str) -> None:
    """Raise ``InvalidArgument`` for a path that the vault's owner excludes from the tools."""
    if not vault.notes.tree.covers(path):
        raise InvalidArgument(field, "lies where this vault leaves files out: no tool reads or writes there")


def _name_taken(vault: Vault, path: str) -> AlreadyExists:
    """The error, with the etag that an overwrite may name. Blocking."""
    try:
        note = to_open_note(path, vault.notes.tree.read(path, vault.notes.settings.max_note))
    except (NotFound, InvalidArgument, TooLarge):  # a folder, a link, or no text
        return AlreadyExists(f"'{path}' exists already", hint="choose another name", path=path)
    hint = Advice(
        tool_clause("note_edit changes it", "note_edit"),
        tool_clause("note_write with mode 'overwrite' replaces it", "note_write"),
    )
    return AlreadyExists(f"'{path}' exists already", hint=hint, path=path, etag=note.etag)


async def name_taken(vault: Vault, path: str) -> AlreadyExists:
    """The error for a name that another program took just before the change was made."""
    return await run_in(vault.shared.pool, _name_taken, vault, path)


def note_gone(path: str) -> Conflict:
    """The error for a note that is gone since the caller read it."""
    return Conflict(f"{path} was removed or moved since it was read", hint="look where it went", path=path)


async def with_present_text(vault: Vault, path: str, failure: Conflict) -> Conflict:
    """Add the present text and etag to a conflict found while a change was being made."""
    try:
        content = await run_in(vault.shared.pool, vault.notes.tree.read, path, vault.notes.settings.max_note)
        check_etag(to_open_note(path, content), "")
    except Conflict as present:
        present.details.update(failure.details)
        return present
    except StrongroomError:  # it is gone, or no longer a note
        return failure
    return failure


async def keep_caller_version(
    vault: Vault,
    actor: Actor,
    failure: Conflict,
    base: tuple[str, str, str | None],
    requested: tuple[Amendment, EditOptions],
) -> Conflict:
    """The conflict to raise; the caller's version is saved next to the note if that was requested. ``base``: path,
    text and etag of the present version."""
    amendment, options = requested
    if not options.keep_conflict or options.dry_run:
        return failure
    path, text, etag = base
    if options.etag not in (None, etag):
        text_read = await vault.db.read(lambda tx: _find_read_version(tx, options.etag or ""))
    else:
        text_read = text
    mine = await run_in(vault.shared.pool, _caller_text, amendment, text_read)
    if not mine.strip():
        return failure
    name = await run_in(vault.shared.pool, _find_free_name, vault, path)
    file = FileChange(name, None, mine.encode())
    await commit(vault, actor, NoteChange(options.tool, f"kept another version of {path} as", [file], options.session))
    return Conflict(failure.message, hint=f"your version is kept as {name}", **{**failure.details, "kept": name})


def _find_read_version(tx: Reader, etag: str) -> str | None:
    """The text the caller read, if a tool ever wrote or replaced it."""
    query = "SELECT hash FROM note_versions WHERE hash >= :etag AND hash < :beyond"
    row = tx.one(query, {"etag": etag, "beyond": f"{etag}g"}) if etag else None
    data = journal.read_version(tx, row[0]) if row else None
    try:
        return decode(data).text if data is not None else None
    except NotText:
        return None


def _caller_text(amendment: Amendment, text: str | None) -> str:
    """The note as the caller wants it, or only the caller's words where the text they edited is unknown."""
    if text is None:
        return amendment.words
    try:
        return amendment.revise(text).text
    except StrongroomError:
        return amendment.words


def _find_free_name(vault: Vault, path: str) -> str:
    moment = datetime.now(UTC)
    names = (conflict_path(path, moment, attempt) for attempt in range(MAX_NAMES_TRIED))
    return next(
        (name for name in names if vault.notes.tree.collision(name) is None),
        conflict_path(path, moment, MAX_NAMES_TRIED),
    )
