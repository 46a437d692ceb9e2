"""The note that a caller means by a path, a title or an alias."""

from __future__ import annotations

from vaults.domain.notes.read.note_lookup import closest, nobody, opened, several
from vaults.domain.text.sanitize import one_line
from vaults.errors import InvalidArgument, NotFound, TooLarge
from vaults.graph.names import note_names
from vaults.vault import Vault


async def path_if_any(vault: Vault, name: str) -> str | None:
    """The path of the note that goes by a name; None where none does. Raises ``Conflict`` where several do."""
    try:
        return (await opened(vault, name)).path
    except (NotFound, InvalidArgument, TooLarge):
        pass
    found = await vault.db.read(lambda tx: list(note_names.called_so(tx, name)))
    if len(found) > 1:
        raise several(name, found)
    return found[0] if found else None


async def path_of(vault: Vault, name: str) -> str:
    """As ``path_if_any``; raises ``NotFound`` with the closest names where no note goes by it."""
    path = await path_if_any(vault, name)
    if path is None:
        near = await vault.db.read(lambda tx: closest(tx, name))
        raise nobody(f"no note is called {one_line(name)}", near, "entities action=list shows what there is")
    return path
