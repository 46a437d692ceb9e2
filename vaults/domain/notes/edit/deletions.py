"""Deleting a note. Its last version stays in the journal, so ``history`` can bring it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vaults.context import run_in
from vaults.domain.actors import Actor
from vaults.domain.notes.commit.change_diffs import diff_files
from vaults.domain.notes.commit.journal import FileChange, NoteChange
from vaults.domain.notes.commit.transaction import commit
from vaults.domain.notes.edit.drafts import DraftNotes
from vaults.domain.notes.edit.edit_results import EditResult
from vaults.domain.notes.edit.moves import find_links_to
from vaults.domain.notes.read.note_lookup import OpenNote, check_etag
from vaults.errors import ConfirmationRequired, NotFound
from vaults.files.paths import collision_key, to_note_path
from vaults.graph.links.link_index import LinkRow
from vaults.vault import Vault

MAX_NAMED = 5
"""Max links that a warning names one by one."""


@dataclass(frozen=True, slots=True)
class DeleteRequest:
    """A deletion as requested."""

    path: str
    confirmed: bool = False
    dry_run: bool = False
    etag: str | None = None
    session: str | None = None


async def delete(vault: Vault, actor: Actor, request: DeleteRequest) -> EditResult:
    """Delete a note. Raises ``ConfirmationRequired`` unless ``confirmed`` is set, ``Conflict``, and ``NotFound``, also
    where the path is only a name of some note."""
    async with vault.notes.writing():
        removal = await plan_delete(DraftNotes(vault), request.path, request.etag)
        note, change, warnings = removal.note, removal.file, removal.warnings
        if request.dry_run:
            diff = await run_in(vault.shared.pool, diff_files, [change])
            return EditResult(note.path, note.etag, changed=False, warnings=warnings, diff=diff)
        if not request.confirmed:
            raise ConfirmationRequired(
                f"{note.path} is only deleted with confirmed: true",
                hint="dry_run: true shows what would be lost",
                path=note.path,
                etag=note.etag,
                links=removal.links,
            )
        done = await commit(vault, actor, NoteChange("note_delete", f"deleted {note.path}", [change], request.session))
        return EditResult(note.path, None, changed=True, warnings=warnings, change=done.id)


@dataclass(frozen=True, slots=True)
class PlannedDeletion:
    """A note to be deleted. ``links``: how many links in other notes lead to it."""

    note: OpenNote
    file: FileChange
    links: int
    warnings: list[str]


async def plan_delete(draft: DraftNotes, path: str, etag: str | None = None) -> PlannedDeletion:
    """Plan the deletion of a note on top of a draft. Raises ``NotFound``, ``Conflict``."""
    note = await draft.open_note(path)
    if collision_key(note.path) != collision_key(
        to_note_path(path)
    ):  # a note is deleted by its path only, never by title or alias
        raise NotFound(f"no note {path}", hint=f"if you mean {note.path}, give that path", closest=[note.path])
    check_etag(note, etag)
    pointing = await draft.vault.db.read(lambda tx: find_links_to(tx, note.path))
    file = FileChange(note.path, note.data, None, stamp=note.stamp)
    return PlannedDeletion(note, file, len(pointing), [*note.warnings, *_broken_link_warnings(pointing)])


def _broken_link_warnings(pointing: Sequence[LinkRow]) -> list[str]:
    if not pointing:
        return []
    places = list(dict.fromkeys(f"{row.source} line {row.line}" for row in pointing))
    some = ", ".join(places[:MAX_NAMED])
    more = f" and {len(places) - MAX_NAMED} more places" if len(places) > MAX_NAMED else ""
    links = "1 link" if len(pointing) == 1 else f"{len(pointing)} links"
    return [f"{links} in other notes pointed to it: {some}{more}"]
