"""The people, things and ideas of a vault, as a list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from vaults.context import run_in
from vaults.domain.graph.entities.known_names import Known, known
from vaults.domain.memories.memory_model import Actor, hashed
from vaults.domain.paging import cursors, token_budget
from vaults.graph.names import categories
from vaults.graph.note_graph import NONE
from vaults.markdown.link_resolution import folded
from vaults.vault import Vault

Kind = Literal["note", "memory", "prospect"]
SortBy = Literal["hub", "mentions", "name"]

ALIASES = 20
"""Aliases shown of one entity."""

CATEGORIES = 20
"""Categories that are counted in an answer."""


@dataclass(frozen=True, slots=True)
class Entity:
    """``kind``: it has a note; or memories carry its name; or notes link to a name without a note. ``hub``: how central
    its note is, 0 to 100; ``linked_from`` counts notes, ``memories`` those the caller may see."""

    name: str
    kind: Kind
    category: str = ""
    path: str | None = None
    aliases: list[str] = field(default_factory=list)
    hub: float = 0.0
    linked_from: int = 0
    memories: int = 0

    @property
    def mentions(self) -> int:
        """Notes and memories that speak of it."""
        return self.linked_from + self.memories


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which entities; a text is compared without case, with each of an entity's names."""

    kind: Kind | None = None
    category: str | None = None
    prefix: str | None = None
    contains: str | None = None
    has_aliases: bool | None = None
    sort_by: SortBy = "hub"

    @property
    def digest(self) -> str:
        """What a cursor belongs to."""
        return hashed({name: getattr(self, name) for name in self.__slots__})[:16]


@dataclass(frozen=True, slots=True)
class Page:
    """Some of ``total``. ``categories``: how many there are of each, the most first."""

    entities: list[Entity]
    total: int
    categories: dict[str, int]
    cursor: str | None = None


async def listed(vault: Vault, actor: Actor, wanted: Wanted, room: tuple[int, int], cursor: str | None = None) -> Page:
    """A page. ``room``: entities and tokens at most. Raises ``InvalidArgument`` for a cursor of another listing."""
    limit, max_tokens = room
    after = str(cursors.read(cursor, wanted.digest)[0]) if cursor is not None else ""
    found = await vault.db.read(lambda tx: known(tx, vault, actor))
    passing, counts = await run_in(vault.shared.pool, _passing, found, wanted)
    rest = [each for each in passing if each[0] > after][: limit + 1]
    several = [entity for _, entity in rest[:limit]]
    count = len(await token_budget.fitted(vault, several, max_tokens))
    more = count < len(rest)
    following = cursors.written(wanted.digest, rest[count - 1][0], 0) if more else None
    return Page(several[:count], len(passing), counts, following)


def _passing(found: Known, wanted: Wanted) -> tuple[list[tuple[str, Entity]], dict[str, int]]:
    """Those that pass, each behind what it is ordered by."""
    fitting = [each for each in every(found) if _fits(each, wanted)]
    counts = Counter(each.category for each in fitting if each.category)
    if wanted.category is not None:
        fitting = [each for each in fitting if folded(each.category) == folded(wanted.category)]
    ordered = sorted(((_place(each, wanted.sort_by), each) for each in fitting), key=lambda pair: pair[0])
    return ordered, dict(counts.most_common(CATEGORIES))


def every(found: Known) -> Iterator[Entity]:
    """All entities, notes first."""
    graph, spoken = found.graph, found.spoken
    for number, node in graph.nodes.items():
        yield Entity(
            name=node.title,
            kind="note",
            category=categories.category(node),
            path=node.path,
            aliases=list(node.aliases[:ALIASES]),
            hub=found.hubs.get(number, 0.0),
            linked_from=len(graph.into.get(number, NONE)),
            memories=spoken.notes.get(node.path, 0),
        )
    linked = {folded(each.name): each for each in found.wanted}
    for name, memories in spoken.names.items():
        link = linked.pop(folded(name), None)
        yield Entity(name, "memory", linked_from=link.notes if link else 0, memories=memories)
    for link in linked.values():
        yield Entity(link.name, "prospect", linked_from=link.notes)


def _fits(entity: Entity, wanted: Wanted) -> bool:
    if wanted.kind is not None and entity.kind != wanted.kind:
        return False
    if wanted.has_aliases is not None and bool(entity.aliases) != wanted.has_aliases:
        return False
    if wanted.prefix is None and wanted.contains is None:
        return True
    names = [folded(each) for each in (entity.name, *entity.aliases)]
    start, part = folded(wanted.prefix or ""), folded(wanted.contains or "")
    return any(each.startswith(start) for each in names) and any(part in each for each in names)


def _place(entity: Entity, sort_by: SortBy) -> str:
    """A text that comes before those of the entities that come after it."""
    called = f"{folded(entity.name)[:200]}|{entity.path or entity.kind}"
    if sort_by == "hub":
        return f"{10_000 - round(entity.hub * 100):06d}|{10**9 - entity.mentions:010d}|{called}"
    return f"{10**9 - entity.mentions:010d}|{called}" if sort_by == "mentions" else called
