"""Adding a name to a note, or taking one away, and thinking of names it could have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.graph.entities import alias_edits, entity_lookup
from vaults.domain.graph.entities.alias_ideas import Idea, Named, ideas
from vaults.domain.graph.entities.known_names import Known, known
from vaults.domain.memories.memory_model import Actor
from vaults.domain.notes.edit.amendments import Amendment, Revision, Terms
from vaults.domain.notes.edit.edit_results import Changed
from vaults.domain.notes.edit.single_note import amend
from vaults.errors import InvalidArgument
from vaults.graph.names import categories, note_names
from vaults.graph.note_graph import Node
from vaults.markdown.link_resolution import folded
from vaults.vault import Vault

SAID = 20_000
"""Different words of links that are looked at."""

OFTEN = 2
"""Links that say so, from which a vault is told of a name."""

_TIMID = ("plural", "singular", "initials")
"""Ideas for a note that is asked about, but not for a whole vault."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A change of a note's aliases."""

    entity: str
    alias: str
    remove: bool
    terms: Terms


async def change(vault: Vault, actor: Actor, asked: Asked) -> Changed:
    """Add an alias to a note, or take it away; every other byte stays. Raises ``NotFound``, ``Conflict``,
    ``InvalidArgument``."""
    name = " ".join(asked.alias.split())
    if not name or not name.isprintable():
        raise InvalidArgument("alias", "must be a name on one line")
    path = await entity_lookup.path_of(vault, asked.entity)

    def revise(text: str) -> Revision:
        if asked.remove:
            return Revision(alias_edits.removed(text, name), "took an alias from")
        return Revision(alias_edits.added(text, [name]), "added an alias to")

    changed = await amend(vault, actor, Amendment(path, revise), asked.terms)
    others = [] if asked.remove else await vault.db.read(lambda tx: list(note_names.called_so(tx, name)))
    also = [each for each in others if each != path]
    if not also:
        return changed
    said = f"{also[0]} goes by this name as well: a link by it may mean that note, or none"
    return replace(changed, warnings=[*changed.warnings, said])


async def suggest(vault: Vault, actor: Actor, entity: str | None, limit: int) -> list[Idea]:
    """Names for one note, or the surest ones for all. Raises ``NotFound``."""
    path = await entity_lookup.path_of(vault, entity) if entity is not None else None
    found, said = await vault.db.read(lambda tx: (known(tx, vault, actor), _said(tx, path)))
    return (await run_in(vault.shared.pool, _ideas, found, said, path))[:limit]


_Said = Mapping[int, Mapping[str, int]]


def _said(tx: Reader, path: str | None) -> _Said:
    """What links show instead of a note's name, by the number of the note, and how often."""
    only = " AND meant = (SELECT seq FROM notes WHERE path = :path)" if path is not None else ""
    rows = tx.all(
        "SELECT meant, alias, COUNT(*) FROM note_links WHERE meant IS NOT NULL AND meant <> note AND alias <> ''"
        f" AND kind = 'wiki' AND embed = 0{only} GROUP BY meant, alias ORDER BY COUNT(*) DESC, alias LIMIT :most",
        {"path": path, "most": SAID},
    )
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for note, alias, count in rows:
        found[int(note)][str(alias)] = int(count)
    return found


def _ideas(found: Known, said: _Said, path: str | None) -> list[Idea]:
    graph = found.graph
    holders: dict[str, set[int]] = defaultdict(set)
    for number, node in graph.nodes.items():
        for name in node.names:
            holders[folded(name)].add(number)
    spoken = {folded(name) for name in found.spoken.names}
    several: list[tuple[float, Idea]] = []
    for number, node in graph.nodes.items():
        if path is None or node.path == path:
            words = said.get(number, {})
            for idea in ideas(_named(node, words), _taken(holders, spoken, number)):
                if path is not None or _is_sure(idea):
                    several.append((found.hubs.get(number, 0.0), idea))
    if path is None:
        several.sort(key=lambda each: (-each[1].used, -each[0], each[1].path, each[1].alias))
    return [idea for _, idea in several]


def _is_sure(idea: Idea) -> bool:
    """Whether it is worth a word where nobody asked about this note."""
    return idea.used >= OFTEN if idea.because == "used in links" else idea.because not in _TIMID


def _named(node: Node, said: Mapping[str, int]) -> Named:
    return Named(node.path, node.title, node.names, categories.category(node), said)


def _taken(holders: Mapping[str, set[int]], spoken: set[str], number: int) -> Callable[[str], bool]:
    """Whether another entity goes by a name."""

    def is_taken(name: str) -> bool:
        form = folded(name)
        return form in spoken or bool(holders.get(form, set()) - {number})

    return is_taken
