"""Listing the entities of a vault: people, things and ideas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from vaults.context import run_in
from vaults.domain.actors import Actor
from vaults.domain.graph.entities.known_names import KnownNames, read_known_names
from vaults.domain.paging import cursors, token_budget
from vaults.domain.text.fields import hash_parts
from vaults.graph.names import categories
from vaults.graph.note_graph import NO_NOTES
from vaults.markdown.link_resolution import fold_name
from vaults.vault import Vault

EntityKind = Literal["note", "memory", "prospect"]
EntitySort = Literal["hub", "mentions", "name"]

MAX_ALIASES = 20
"""Max aliases shown of one entity."""

MAX_CATEGORIES = 20
"""Max categories counted in an answer."""


@dataclass(frozen=True, slots=True)
class Entity:
    """``kind``: it has a note; or memories carry its name; or notes link to a name without a note. ``hub``: how central
    its note is, 0 to 100; ``linked_from`` counts notes, ``memories`` those the caller may see."""

    name: str
    kind: EntityKind
    category: str = ""
    path: str | None = None
    aliases: list[str] = field(default_factory=list)
    hub: float = 0.0
    linked_from: int = 0
    memories: int = 0

    @property
    def mentions(self) -> int:
        """How many notes and memories mention it."""
        return self.linked_from + self.memories


@dataclass(frozen=True, slots=True)
class EntityFilter:
    """Which entities to list. Texts are compared with each of an entity's names, ignoring case."""

    kind: EntityKind | None = None
    category: str | None = None
    prefix: str | None = None
    contains: str | None = None
    has_aliases: bool | None = None
    sort_by: EntitySort = "hub"

    @property
    def digest(self) -> str:
        """Identifies the listing that a cursor belongs to."""
        return hash_parts({name: getattr(self, name) for name in self.__slots__})[:16]


@dataclass(frozen=True, slots=True)
class EntityPage:
    """A page of ``total`` entities. ``categories``: number of entities by category, most frequent first."""

    total: int
    categories: dict[str, int]
    truncated: bool = False
    cursor: str | None = None
    entities: list[Entity] = field(default_factory=list)


async def list_entities(
    vault: Vault, actor: Actor, wanted: EntityFilter, room: tuple[int, int], cursor: str | None = None
) -> EntityPage:
    """One page of entities. ``room``: max entities, max tokens. Raises ``InvalidArgument`` for a cursor of another
    listing."""
    limit, max_tokens = room
    after = str(cursors.decode(cursor, wanted.digest)[0]) if cursor is not None else ""
    found = await vault.db.read(lambda tx: read_known_names(tx, vault, actor))
    passing, counts = await run_in(vault.shared.pool, _filter_entities, found, wanted)
    rest = [each for each in passing if each[0] > after][: limit + 1]
    several = [entity for _, entity in rest[:limit]]
    count = len(await token_budget.fit_rows(vault, several, max_tokens))
    more = count < len(rest)
    following = cursors.encode(wanted.digest, rest[count - 1][0], 0) if more else None
    return EntityPage(len(passing), counts, more, following, several[:count])


def _filter_entities(found: KnownNames, wanted: EntityFilter) -> tuple[list[tuple[str, Entity]], dict[str, int]]:
    """The matching entities, each with its sort key, and the number of entities by category."""
    fitting = [each for each in iter_entities(found) if _is_match(each, wanted)]
    counts = Counter(each.category for each in fitting if each.category)
    if wanted.category is not None:
        fitting = [each for each in fitting if fold_name(each.category) == fold_name(wanted.category)]
    ordered = sorted(((_to_sort_key(each, wanted.sort_by), each) for each in fitting), key=lambda pair: pair[0])
    return ordered, dict(counts.most_common(MAX_CATEGORIES))


def iter_entities(found: KnownNames) -> Iterator[Entity]:
    """All entities, notes first."""
    graph, spoken = found.graph, found.spoken
    for number, node in graph.nodes.items():
        yield Entity(
            name=node.title,
            kind="note",
            category=categories.infer_category(node),
            path=node.path,
            aliases=list(node.aliases[:MAX_ALIASES]),
            hub=found.hubs.get(number, 0.0),
            linked_from=len(graph.into.get(number, NO_NOTES)),
            memories=spoken.notes.get(node.path, 0),
        )
    linked = {fold_name(each.name): each for each in found.wanted}
    for name, memories in spoken.names.items():
        link = linked.pop(fold_name(name), None)
        yield Entity(name, "memory", linked_from=link.notes if link else 0, memories=memories)
    for link in linked.values():
        yield Entity(link.name, "prospect", linked_from=link.notes)


def _is_match(entity: Entity, wanted: EntityFilter) -> bool:
    if wanted.kind is not None and entity.kind != wanted.kind:
        return False
    if wanted.has_aliases is not None and bool(entity.aliases) != wanted.has_aliases:
        return False
    if wanted.prefix is None and wanted.contains is None:
        return True
    names = [fold_name(each) for each in (entity.name, *entity.aliases)]
    start, part = fold_name(wanted.prefix or ""), fold_name(wanted.contains or "")
    return any(each.startswith(start) for each in names) and any(part in each for each in names)


def _to_sort_key(entity: Entity, sort_by: EntitySort) -> str:
    """A key whose text order is the requested order."""
    called = f"{fold_name(entity.name)[:200]}|{entity.path or entity.kind}"
    if sort_by == "hub":
        return f"{10_000 - round(entity.hub * 100):06d}|{10**9 - entity.mentions:010d}|{called}"
    return f"{10**9 - entity.mentions:010d}|{called}" if sort_by == "mentions" else called
