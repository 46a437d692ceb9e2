"""Where is it defined: symbols by name, whole, by its beginning, or by its parts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vaults.code.identifiers import split_identifier
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.code.module_paths import fits
from vaults.domain.code.symbol_lookup import SYMBOL_COLUMNS, SYMBOLS, VISIBLE, StoredSymbol, to_symbol

MAX_CANDIDATES = 2_000
"""Symbols that are ranked."""

PARTS_SECONDS = 0.5
"""Seconds within which symbols are looked through for parts of a name."""

LAST = "\U0010ffff"

_SEPARATORS = re.compile(r"::|[.#/›\\]|->")
_TESTS = re.compile(
    r"(^|/)(tests?|testing|specs?|__tests__|__mocks__|e2e|fixtures|examples?|benchmarks?|bench)/|(^|/)(test|conftest)[_.]"
    r"|[_.](test|spec|tests)\.\w+$",
    re.IGNORECASE,
)
_KIND_RANKS = {"constant": 2, "field": 3, "module": 1}


@dataclass(frozen=True, slots=True)
class SymbolQuery:
    """What is looked for. ``name``: of a symbol, qualified or not; ``path``: of its file, or part of it."""

    name: str | None = None
    path: str | None = None
    kind: str | None = None
    language: str | None = None
    collection: str | None = None

    def where(self, actor: Actor) -> tuple[str, dict[str, Any]]:
        """As a condition over ``SYMBOLS``, and its values."""
        given = {"kind": self.kind, "language": self.language, "collection": self.collection, "path": self.path}
        conditions = {
            "kind": "s.kind = :kind",
            "language": "f.language = :language",
            "collection": "d.collection = :collection",
            "path": "instr('/' || d.uri, :path) > 0",
        }
        chosen = [conditions[name] for name, value in given.items() if value is not None]
        values = {name: value for name, value in given.items() if value is not None}
        return " AND ".join([VISIBLE, *chosen]), values | {"viewer": actor.identity}


@dataclass(frozen=True, slots=True)
class FoundSymbol:
    """A symbol, and how its name fits: ``exact``, ``prefix`` or ``parts``; ``listed`` where no name was asked for."""

    symbol: StoredSymbol
    match: str


def find_symbols(tx: Reader, actor: Actor, query: SymbolQuery, limit: int) -> list[FoundSymbol]:
    """Symbols by name, best first: exact before prefix before parts; what is imported most, and no test, before others;
    definitions before constants of the same name."""
    where, values = query.where(actor)
    if not query.name or not query.name.strip():
        rows = _read(tx, f"{where} ORDER BY d.uri, s.number LIMIT :limit", values | {"limit": limit})
        return [FoundSymbol(symbol, "listed") for symbol in rows]
    *holders, name = [part for part in _SEPARATORS.split(query.name.strip()) if part] or [query.name]
    name = name.strip(" ()`'\"")
    found = _find_by_name(tx, where, values, name)
    if len(found) < limit:
        found |= _find_by_parts(tx, where, values, name, set(found))
    imports = _count_imports(tx, actor, [each for each, match in found.items() if match == "exact"])
    return sorted(
        (FoundSymbol(symbol, match) for symbol, match in found.items()),
        key=lambda each: _rank(each, name, holders, imports),
    )[:limit]


def _read(tx: Reader, condition: str, values: dict[str, Any]) -> list[StoredSymbol]:
    return [to_symbol(row) for row in tx.all(f"SELECT {SYMBOL_COLUMNS} FROM {SYMBOLS} WHERE {condition}", values)]


def _find_by_name(tx: Reader, where: str, values: dict[str, Any], name: str) -> dict[StoredSymbol, str]:
    folded = name.lower()
    bound = values | {"folded": folded, "last": folded + LAST, "most": MAX_CANDIDATES}
    exact = _read(tx, f"{where} AND s.folded = :folded LIMIT :most", bound)
    begun = _read(tx, f"{where} AND s.folded > :folded AND s.folded < :last ORDER BY s.folded LIMIT :most", bound)
    return {**dict.fromkeys(begun, "prefix"), **dict.fromkeys(exact, "exact")}


def _find_by_parts(
    tx: Reader, where: str, values: dict[str, Any], name: str, known: set[StoredSymbol]
) -> dict[StoredSymbol, str]:
    """Symbols whose names hold all words of this one, as far as they can be looked through in time."""
    words = list(dict.fromkeys(word for each in name.split() for word in split_identifier(each)))[:8]
    if not words:
        return {}
    bound = values | {f"word{number}": f" {word} " for number, word in enumerate(words)} | {"most": MAX_CANDIDATES}
    holds = " AND ".join(f"instr(s.words, :word{number}) > 0" for number in range(len(words)))
    try:
        with tx.within(PARTS_SECONDS):
            found = _read(tx, f"{where} AND {holds} LIMIT :most", bound)
    except TimeoutError:
        return {}
    return {symbol: "parts" for symbol in found if symbol not in known}


def _count_imports(tx: Reader, actor: Actor, exact: Sequence[StoredSymbol]) -> dict[tuple[int, int], int]:
    """How many files import each of the symbols, where there are several to choose from."""
    if len(exact) < 2:
        return {}
    rows = tx.all(
        "SELECT i.module, COUNT(*) FROM code_imports i JOIN documents d ON d.seq = i.document"
        f" WHERE {VISIBLE} AND i.name = :name GROUP BY i.module LIMIT :most",
        {"viewer": actor.identity, "name": exact[0].name, "most": MAX_CANDIDATES},
    )
    return {
        symbol.key: sum(int(count) for module, count in rows if fits(module, symbol.module)) for symbol in exact[:200]
    }


_MATCHES = {"exact": 0, "prefix": 1, "parts": 2, "listed": 3}


def _rank(
    each: FoundSymbol, name: str, holders: Sequence[str], imports: dict[tuple[int, int], int]
) -> tuple[object, ...]:
    symbol = each.symbol
    return (
        _MATCHES[each.match],
        symbol.name != name and each.match == "exact",
        _miss(symbol, holders),
        is_test(symbol.path),
        symbol.path.endswith((".pyi", ".d.ts")),
        _KIND_RANKS.get(symbol.kind, 0),
        -imports.get(symbol.key, 0),
        symbol.qualified.count("."),
        len(symbol.name),
        symbol.path.count("/"),
        symbol.path,
        symbol.line,
    )


def _miss(symbol: StoredSymbol, holders: Sequence[str]) -> int:
    """How many of the names asked for before the last stand neither in the symbol's nor in its file's."""
    above = {part.lower() for part in symbol.qualified.split(".")[:-1]}
    above |= {part.lower() for part in re.split(r"[/.]", symbol.path)}
    return sum(holder.lower() not in above for holder in holders)


def is_test(path: str) -> bool:
    """Whether a path is that of a test, an example or a measurement."""
    return _TESTS.search(path) is not None
