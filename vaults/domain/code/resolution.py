"""Which definition a name means: one in the same file, one the file imports, else the only one of that name.

Nothing here runs code or knows types, so each answer says how sure it is: ``exact`` in the same file, ``import`` where
the file imports it, or its class, or its module; ``name`` where nothing but the name speaks for it, and no other symbol
has it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from vaults.code.languages import BY_NAME
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.code.import_reach import MAX_ROWS, MEMBERS, ImportReach, read_bound_names, read_reach
from vaults.domain.code.module_paths import fits, last_word
from vaults.domain.code.symbol_lookup import VISIBLE, StoredSymbol, read_symbols

Sureness = Literal["exact", "import", "name"]

MAX_DEFINITIONS = 50
"""Definitions of one name among which a reference is looked for."""

_OWN = frozenset({"self", "this", "cls", "super", "Self", "static", "parent", "@", "$this", "base", "me"})


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """Where a name stands: a row of references. ``within``: the number of the symbol it stands in."""

    document: int
    number: int
    name: str
    on: str
    kind: str
    within: int | None
    lines: tuple[int, ...]
    path: str
    document_id: str
    language: str
    module: str


@dataclass(frozen=True, slots=True)
class ResolvedPlace:
    """A place, the definition it means, and how sure that is."""

    place: NamedPlace
    meant: StoredSymbol
    sure: Sureness


@dataclass(slots=True)
class ResolvedPlaces:
    """What means the definitions asked for. ``open``: places of the name that could mean any of several;
    ``truncated``: there are more than were looked at."""

    places: list[ResolvedPlace] = field(default_factory=list)
    open: int = 0
    truncated: bool = False


def resolve(tx: Reader, actor: Actor, definitions: Sequence[StoredSymbol], kinds: Collection[str]) -> ResolvedPlaces:
    """The places of these ``kinds`` that mean one of the definitions, all of one name, in order of file and line."""
    found = ResolvedPlaces()
    if not definitions:
        return found
    name = definitions[0].name
    others = _count_definitions(tx, actor, name)
    reaches = {each.key: read_reach(tx, actor, each) for each in definitions[:MAX_DEFINITIONS]}
    aliases = {bound for reach in reaches.values() for names in reach.symbol.values() for bound in names}
    places = _read_places(tx, actor, {name, *sorted(aliases)[:50]}, kinds)
    found.truncated = len(places) >= MAX_ROWS or len(definitions) > MAX_DEFINITIONS
    known = {document for reach in reaches.values() for document in (*reach.module, *reach.holder)}
    elsewhere = read_bound_names(tx, {place.document for place in places if place.on} - known)
    for place in places:
        meant = _choose(place, definitions[:MAX_DEFINITIONS], reaches, elsewhere, alone=others == 1)
        if isinstance(meant, ResolvedPlace):
            found.places.append(meant)
        elif meant:
            found.open += 1
    return found


def read_holders(tx: Reader, found: Sequence[ResolvedPlace]) -> dict[tuple[int, int | None], StoredSymbol]:
    """The symbols that places stand in, by document and number; none for a place at the top of a file."""
    keys = {(each.place.document, each.place.within) for each in found if each.place.within is not None}
    known = read_symbols(tx, sorted((document, number) for document, number in keys if number is not None))
    return {(document, number): symbol for (document, number), symbol in known.items()}


def _choose(
    place: NamedPlace,
    definitions: Sequence[StoredSymbol],
    reaches: Mapping[tuple[int, int], ImportReach],
    elsewhere: Mapping[int, set[str]],
    *,
    alone: bool,
) -> ResolvedPlace | bool:
    """What a place means; else whether it may mean one of several."""
    best: ResolvedPlace | None = None
    possible = False
    for each in definitions:
        sure = _judge(place, each, reaches[each.key])
        if sure == "exact":
            return ResolvedPlace(place, each, sure)
        if sure == "import" and best is None:
            best = ResolvedPlace(place, each, sure)
        possible = possible or (place.name == each.name and _is_possible(place, each, elsewhere))
    if best is not None or not possible:
        return best or False
    return ResolvedPlace(place, definitions[0], "name") if alone else True


def _judge(place: NamedPlace, meant: StoredSymbol, reach: ImportReach) -> Sureness | None:
    """How sure it is that a place means a definition, by the file both are in, or what its file imports."""
    path = place.on.replace("::", "/").replace(".", "/").replace("\\", "/")
    own = last_word(path)
    if place.document == meant.document:
        return "exact" if place.name == meant.name and _is_of_file(place, meant, own) else None
    bound = reach.symbol.get(place.document, ())
    if not place.on:
        same_folder = place.module == meant.module and place.language == meant.language
        return "import" if place.name in bound or (same_folder and place.name == meant.name) else None
    if place.name != meant.name:
        return None
    modules, holders = reach.module.get(place.document, ()), reach.holder.get(place.document, ())
    if own in modules or place.on in modules or own in holders or ("/" in path and fits(path, meant.module)):
        return "import"
    return "import" if meant.kind in MEMBERS and holders and own not in _OWN else None


def _is_of_file(place: NamedPlace, meant: StoredSymbol, own: str) -> bool:
    """Whether a name in the definition's own file means it."""
    if not place.on:
        return meant.kind not in MEMBERS or not _is_explicit(place.language)
    if meant.kind in MEMBERS:
        return own in _OWN or own == meant.holder
    return own == meant.holder or own == last_word(meant.module)


def _is_possible(place: NamedPlace, meant: StoredSymbol, elsewhere: Mapping[int, set[str]]) -> bool:
    """Whether nothing speaks against a definition of that name: a bare name has to be imported in some languages, and
    what stands before the dot may be known as something else."""
    if not place.on:
        return not _is_explicit(place.language) and meant.kind not in MEMBERS
    first = place.on.replace("::", ".").replace("\\", ".").split(".")[0]
    if first in elsewhere.get(place.document, ()):
        return False
    return meant.kind in MEMBERS


def _is_explicit(language: str) -> bool:
    known = BY_NAME.get(language)
    return known is not None and known.explicit


def _count_definitions(tx: Reader, actor: Actor, name: str) -> int:
    return int(
        tx.value(
            "SELECT COUNT(*) FROM code_symbols s JOIN documents d ON d.seq = s.document"
            f" WHERE {VISIBLE} AND s.folded = :folded AND s.name = :name",
            {"viewer": actor.identity, "folded": name.lower(), "name": name},
        )
    )


def _read_places(tx: Reader, actor: Actor, names: Collection[str], kinds: Collection[str]) -> list[NamedPlace]:
    return sorted(
        (place for name in names for place in read_places_of(tx, actor, name) if place.kind in kinds),
        key=lambda place: (place.path, place.lines[:1], place.number),
    )[:MAX_ROWS]


def read_places_of(tx: Reader, actor: Actor, name: str) -> Iterator[NamedPlace]:
    """Where a name stands, whatever it means there."""
    rows = tx.all(
        'SELECT r.document, r.number, r.name, r."on", r.kind, r.within, r.lines, d.uri, d.id, f.language, f.module'
        " FROM code_references r JOIN documents d ON d.seq = r.document JOIN code_files f ON f.document = r.document"
        f" WHERE {VISIBLE} AND r.name = :name LIMIT :most",
        {"viewer": actor.identity, "name": name, "most": MAX_ROWS},
    )
    for document, number, found, on, kind, within, lines, *rest in rows:
        yield NamedPlace(document, number, found, on, kind, within, tuple(map(int, lines.split())), *rest)
