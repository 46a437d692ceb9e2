"""Adding, removing and suggesting aliases of notes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.graph.entities import alias_edits, entity_lookup
from vaults.domain.graph.entities.alias_ideas import AliasIdea, NamedEntity, find_alias_ideas
from vaults.domain.graph.entities.known_names import KnownNames, read_known_names
from vaults.domain.notes.edit.amendments import Amendment, EditOptions, Revision
from vaults.domain.notes.edit.edit_results import EditResult
from vaults.domain.notes.edit.single_note import apply_amendment
from vaults.errors import InvalidArgument
from vaults.graph.names import categories, note_names
from vaults.graph.note_graph import Node
from vaults.markdown.link_resolution import fold_name
from vaults.vault import Vault

MAX_ROWS = 20_000
"""Max distinct link texts that are examined."""

MIN_USES = 2
"""Min links that show a name before it is suggested without being asked about its note."""

_UNSURE_SOURCES = ("plural", "singular", "initials")
"""Sources of ideas that are suggested for a single note only, not for a whole vault."""


@dataclass(frozen=True, slots=True)
class AliasRequest:
    """A change to a note's aliases."""

    entity: str
    alias: str
    remove: bool
    terms: EditOptions


async def change_alias(vault: Vault, actor: Actor, request: AliasRequest) -> EditResult:
    """Add or remove an alias of a note; every other byte stays. Raises ``NotFound``, ``Conflict``,
    ``InvalidArgument``."""
    name = " ".join(request.alias.split())
    if not name or not name.isprintable():
        raise InvalidArgument("alias", "must be a name on one line")
    path = await entity_lookup.require_note_path(vault, request.entity)

    def revise(text: str) -> Revision:
        if request.remove:
            return Revision(alias_edits.remove_alias(text, name), "took an alias from")
        return Revision(alias_edits.add_aliases(text, [name]), "added an alias to")

    changed = await apply_amendment(vault, actor, Amendment(path, revise), request.terms)
    others = [] if request.remove else await vault.db.read(lambda tx: list(note_names.find_notes_exactly(tx, name)))
    also = [each for each in others if each != path]
    if not also:
        return changed
    warning = f"{also[0]} goes by this name as well: a link by it may mean that note, or none"
    return replace(changed, warnings=[*changed.warnings, warning])


async def suggest_aliases(vault: Vault, actor: Actor, entity: str | None, limit: int) -> list[AliasIdea]:
    """Suggest aliases for one note, or the most certain ones for all. Raises ``NotFound``."""
    path = await entity_lookup.require_note_path(vault, entity) if entity is not None else None
    found, shown = await vault.db.read(lambda tx: (read_known_names(tx, vault, actor), _read_shown_names(tx, path)))
    return (await run_in(vault.shared.pool, _find_ideas, found, shown, path))[:limit]


_ShownNames = Mapping[int, Mapping[str, int]]


def _read_shown_names(tx: Reader, path: str | None) -> _ShownNames:
    """By note number: the words links show instead of its name, and how often."""
    only = " AND meant = (SELECT seq FROM notes WHERE path = :path)" if path is not None else ""
    rows = tx.all(
        "SELECT meant, alias, COUNT(*) FROM note_links WHERE meant IS NOT NULL AND meant <> note AND alias <> ''"
        f" AND kind = 'wiki' AND embed = 0{only} GROUP BY meant, alias ORDER BY COUNT(*) DESC, alias LIMIT :most",
        {"path": path, "most": MAX_ROWS},
    )
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for note, alias, count in rows:
        found[int(note)][str(alias)] = int(count)
    return found


def _find_ideas(found: KnownNames, shown: _ShownNames, path: str | None) -> list[AliasIdea]:
    graph = found.graph
    holders: dict[str, set[int]] = defaultdict(set)
    for number, node in graph.nodes.items():
        for name in node.names:
            holders[fold_name(name)].add(number)
    spoken = {fold_name(name) for name in found.spoken.names}
    several: list[tuple[float, AliasIdea]] = []
    for number, node in graph.nodes.items():
        if path is None or node.path == path:
            words = shown.get(number, {})
            for idea in find_alias_ideas(_to_named_entity(node, words), _make_is_taken(holders, spoken, number)):
                if path is not None or _is_sure(idea):
                    several.append((found.hubs.get(number, 0.0), idea))
    if path is None:
        several.sort(key=lambda each: (-each[1].used, -each[0], each[1].path, each[1].alias))
    return [idea for _, idea in several]


def _is_sure(idea: AliasIdea) -> bool:
    """Whether an idea is certain enough to suggest when nobody asked about this note."""
    return idea.used >= MIN_USES if idea.because == "used in links" else idea.because not in _UNSURE_SOURCES


def _to_named_entity(node: Node, shown: Mapping[str, int]) -> NamedEntity:
    return NamedEntity(node.path, node.title, node.names, categories.infer_category(node), shown)


def _make_is_taken(holders: Mapping[str, set[int]], spoken: set[str], number: int) -> Callable[[str], bool]:
    """A predicate: whether another entity has a name."""

    def is_taken(name: str) -> bool:
        form = fold_name(name)
        return form in spoken or bool(holders.get(form, set()) - {number})

    return is_taken
