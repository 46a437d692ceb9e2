"""Removing a note. Its last version stays in the journal, so ``history`` brings it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vaults.context import run_in
from vaults.domain.memory import Actor
from vaults.domain.notes.changed import Changed
from vaults.domain.notes.committing import commit
from vaults.domain.notes.journal import Change, FileChange
from vaults.domain.notes.moving import links_to
from vaults.domain.notes.opening import check_etag, opened
from vaults.domain.notes.showing import shown
from vaults.errors import ConfirmationRequired, NotFound
from vaults.files.paths import key, note_path
from vaults.graph.linking import LinkRow
from vaults.vault import Vault

NAMED = 5
"""Links that a warning names one by one."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A removal as it is asked for."""

    path: str
    confirm: bool = False
    dry_run: bool = False
    etag: str | None = None
    session: str | None = None


async def delete(vault: Vault, actor: Actor, asked: Asked) -> Changed:
    """Remove a note. Raises ``ConfirmationRequired`` unless ``confirm`` is set, ``NotFound`` also for a note that only
    goes by that name, ``Conflict``."""
    async with vault.notes.writing():
        note = await opened(vault, asked.path)
        if key(note.path) != key(
            note_path(asked.path)
        ):  # what is removed is named by its path, not by what it is called
            raise NotFound(
                f"no note {asked.path}", hint=f"if you mean {note.path}, give that path", closest=[note.path]
            )
        check_etag(note, asked.etag)
        pointing = await vault.db.read(lambda tx: links_to(tx, note.path))
        warnings = [*note.warnings, *_broken(pointing)]
        change = FileChange(note.path, note.data, None, stamp=note.stamp)
        if asked.dry_run:
            diff = await run_in(vault.shared.pool, shown, [change])
            return Changed(note.path, note.etag, changed=False, warnings=warnings, diff=diff)
        if not asked.confirm:
            raise ConfirmationRequired(
                f"{note.path} is only deleted with confirm: true",
                hint="dry_run: true shows what would be lost",
                path=note.path,
                etag=note.etag,
                links=len(pointing),
            )
        done = await commit(vault, actor, Change("note_delete", f"deleted {note.path}", [change], asked.session))
        return Changed(note.path, None, changed=True, warnings=warnings, change=done.id)


def _broken(pointing: Sequence[LinkRow]) -> list[str]:
    if not pointing:
        return []
    places = list(dict.fromkeys(f"{row.source} line {row.line}" for row in pointing))
    some = ", ".join(places[:NAMED])
    more = f" and {len(places) - NAMED} more places" if len(places) > NAMED else ""
    links = "1 link" if len(pointing) == 1 else f"{len(pointing)} links"
    return [f"{links} in other notes pointed to it: {some}{more}"]
