"""The note that a caller means by a path, a title or an alias."""

from __future__ import annotations

from vaults.db.sql import Reader
from vaults.domain.disarming import one_line
from vaults.domain.notes.opening import closest, opened
from vaults.errors import Conflict, InvalidArgument, NotFound, TooLarge
from vaults.graph import titles
from vaults.markdown.resolve import Candidate, folded, name_key
from vaults.vault import Vault

NAMED = 20
"""Notes an error names one by one."""


async def path_if_any(vault: Vault, name: str) -> str | None:
    """The path of the note that goes by a name; None where none does. Raises ``Conflict`` where several do."""
    try:
        return (await opened(vault, name)).path
    except (NotFound, InvalidArgument, TooLarge):
        pass
    found = await vault.db.read(lambda tx: called(tx, name))
    if len(found) > 1:
        raise Conflict(
            f"{len(found)} notes are called {one_line(name)}: {', '.join(found[:5])}",
            hint="give the path of the one you mean",
            paths=found[:NAMED],
        )
    return found[0] if found else None


async def path_of(vault: Vault, name: str) -> str:
    """As ``path_if_any``; raises ``NotFound`` with the closest names where no note goes by it."""
    path = await path_if_any(vault, name)
    if path is None:
        near = await vault.db.read(lambda tx: closest(tx, name))
        hint = f"did you mean {', '.join(near[:3])}?" if near else "entities action=list shows what there is"
        raise NotFound(f"no note is called {one_line(name)}", hint=hint, closest=near)
    return path


def called(tx: Reader, name: str) -> list[str]:
    """Paths of the notes with this file name, title or alias, whatever its case."""
    wanted = folded(name.strip())
    return sorted(each.path for _, each in titles.called(tx, name_key(name)) if wanted in _names(each))


def _names(note: Candidate) -> set[str]:
    stem = note.path.rpartition("/")[2].rpartition(".")[0]
    return {folded(each) for each in (stem, note.title or "", *note.aliases)}
