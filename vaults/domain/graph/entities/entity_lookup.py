"""Finding the note that a caller means by a path, a title or an alias."""

from __future__ import annotations

from vaults.domain.notes.read.note_lookup import ambiguous_name, find_closest, no_such_note, open_note
from vaults.domain.text.sanitize import to_one_line
from vaults.errors import InvalidArgument, NotFound, TooLarge
from vaults.graph.names import note_names
from vaults.vault import Vault


async def find_note_path(vault: Vault, name: str) -> str | None:
    """The path of the note with a name; None if there is none. Raises ``Conflict`` if there are several."""
    try:
        return (await open_note(vault, name)).path
    except (NotFound, InvalidArgument, TooLarge):
        pass
    found = await vault.db.read(lambda tx: list(note_names.find_notes_exactly(tx, name)))
    if len(found) > 1:
        raise ambiguous_name(name, found)
    return found[0] if found else None


async def require_note_path(vault: Vault, name: str) -> str:
    """Like ``find_note_path``, but raises ``NotFound`` with the closest names if there is no such note."""
    path = await find_note_path(vault, name)
    if path is None:
        near = await vault.db.read(lambda tx: find_closest(tx, name))
        raise no_such_note(f"no note is called {to_one_line(name)}", near, "entities action=list shows what there is")
    return path
