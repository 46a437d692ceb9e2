"""Removing a note. Its last version stays in the journal, so ``history`` brings it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vaults.context import run_in
from vaults.domain.memories.memory_model import Actor
from vaults.domain.notes.commit.change_diffs import shown
from vaults.domain.notes.commit.journal import Change, FileChange
from vaults.domain.notes.commit.transaction import commit
from vaults.domain.notes.edit.drafts import Draft
from vaults.domain.notes.edit.edit_results import Changed
from vaults.domain.notes.edit.moves import links_to
from vaults.domain.notes.read.note_lookup import Open, check_etag
from vaults.errors import ConfirmationRequired, NotFound
from vaults.files.paths import key, note_path
from vaults.graph.links.link_index import LinkRow
from vaults.vault import Vault

NAMED = 5
"""Links that a warning names one by one."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A removal as it is asked for."""

    path: str
    confirmed: bool = False
    dry_run: bool = False
    etag: str | None = None
    session: str | None = None


async def delete(vault: Vault, actor: Actor, asked: Asked) -> Changed:
    """Remove a note. Raises ``ConfirmationRequired`` unless ``confirmed`` is set, ``NotFound`` also for a note that
    only goes by that name, ``Conflict``."""
    async with vault.notes.writing():
        removal = await planned(Draft(vault), asked.path, asked.etag)
        note, change, warnings = removal.note, removal.file, removal.warnings
        if asked.dry_run:
            diff = await run_in(vault.shared.pool, shown, [change])
            return Changed(note.path, note.etag, changed=False, warnings=warnings, diff=diff)
        if not asked.confirmed:
            raise ConfirmationRequired(
                f"{note.path} is only deleted with confirmed: true",
                hint="dry_run: true shows what would be lost",
                path=note.path,
                etag=note.etag,
                links=removal.links,
            )
        done = await commit(vault, actor, Change("note_delete", f"deleted {note.path}", [change], asked.session))
        return Changed(note.path, None, changed=True, warnings=warnings, change=done.id)


@dataclass(frozen=True, slots=True)
class Removal:
    """A note that is to be removed. ``links``: how many links of other notes mean it."""

    note: Open
    file: FileChange
    links: int
    warnings: list[str]


async def planned(draft: Draft, path: str, etag: str | None = None) -> Removal:
    """The change that removing a note is, where a draft leaves the notes. Raises ``NotFound``, ``Conflict``."""
    note = await draft.opened(path)
    if key(note.path) != key(note_path(path)):  # what is removed is named by its path, not by what it is called
        raise NotFound(f"no note {path}", hint=f"if you mean {note.path}, give that path", closest=[note.path])
    check_etag(note, etag)
    pointing = await draft.vault.db.read(lambda tx: links_to(tx, note.path))
    file = FileChange(note.path, note.data, None, stamp=note.stamp)
    return Removal(note, file, len(pointing), [*note.warnings, *_broken(pointing)])


def _broken(pointing: Sequence[LinkRow]) -> list[str]:
    if not pointing:
        return []
    places = list(dict.fromkeys(f"{row.source} line {row.line}" for row in pointing))
    some = ", ".join(places[:NAMED])
    more = f" and {len(places) - NAMED} more places" if len(places) > NAMED else ""
    links = "1 link" if len(pointing) == 1 else f"{len(pointing)} links"
    return [f"{links} in other notes pointed to it: {some}{more}"]
