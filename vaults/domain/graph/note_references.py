"""Finding the note a graph query is about: by its path, or by any of its names."""

from __future__ import annotations

from dataclasses import dataclass

from vaults.db.sql import Reader
from vaults.domain.notes.read import dated_notes
from vaults.domain.notes.read.note_lookup import ambiguous_name, find_closest, no_such_note
from vaults.domain.text.sanitize import to_one_line
from vaults.errors import InvalidArgument, NotFound
from vaults.files.paths import collision_key, to_note_path
from vaults.graph.links import link_queries
from vaults.graph.names import note_names
from vaults.markdown.link_resolution import name_key
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class NoteOrName:
    """A note by its number; ``number`` None: a name that links use but no note has. ``key``: the name's key then."""

    name: str
    key: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class NoteReference:
    """The caller's reference to a note: a path, or a name."""

    path: str | None = None
    entity: str | None = None

    @property
    def path_or_name(self) -> str:
        """The one that is given. Raises ``InvalidArgument`` if none or both are."""
        if (self.path is None) == (self.entity is None):
            raise InvalidArgument("path", "or entity must be given, one of them")
        return self.path if self.path is not None else self.entity or ""


async def resolve_dated_path(vault: Vault, reference: NoteReference) -> NoteReference:
    """Resolve an alias of a dated note or an address to its path. Raises ``InvalidArgument``."""
    reference.path_or_name  # noqa: B018  raises unless exactly one is given
    return (
        reference
        if reference.path is None
        else NoteReference(path=await dated_notes.resolve_path(vault, reference.path))
    )


def find_note_or_name(tx: Reader, reference: NoteReference) -> NoteOrName:
    """The note, or the name if only links use it. Raises ``Conflict`` if several notes have the name, ``NotFound`` if
    neither notes nor links do."""
    name = reference.path_or_name
    number = _find_by_path(tx, name) if reference.path is not None else None
    number = _find_by_name(tx, name) if number is None else number
    if number is not None:
        return NoteOrName(name, "", number)
    key = name_key(name)
    if key and link_queries.count_links_naming(tx, key):
        return NoteOrName(name, key)
    raise no_such_note(f"no note {to_one_line(name)}", find_closest(tx, name))


def find_note(tx: Reader, reference: NoteReference) -> int:
    """The number of an existing note. Raises ``Conflict`` and ``NotFound``."""
    found = find_note_or_name(tx, reference)
    if found.number is None:
        raise NotFound(
            f"no note is called {to_one_line(found.name)}", hint="it is only linked to; action backlinks shows by what"
        )
    return found.number


def _find_by_path(tx: Reader, path: str) -> int | None:
    wanted = to_note_path(path)
    rows = tx.all("SELECT seq FROM notes WHERE path = :path", {"path": wanted}) or tx.all(
        "SELECT seq FROM notes WHERE path_key = :key LIMIT 2", {"key": collision_key(wanted)}
    )
    if len(rows) == 1:
        return int(rows[0][0])
    target = note_names.resolve_to_path(tx, path.removesuffix(".md"), "") if not rows else None
    return int(tx.value("SELECT seq FROM notes WHERE path = :path", {"path": target})) if target else None


def _find_by_name(tx: Reader, name: str) -> int | None:
    found = note_names.find_notes_exactly(tx, name)
    if len(found) > 1:
        raise ambiguous_name(name, list(found))
    return next(iter(found.values()), None)
