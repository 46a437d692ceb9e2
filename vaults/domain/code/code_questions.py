"""What can be asked of code: where it is defined, what a file holds, who names it, and what depends on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.code import dependents, resolution
from vaults.domain.code.code_answers import APPROXIMATE, CodeAnswer, CodePlaceRow, to_place_row, to_row, to_rows
from vaults.domain.code.resolution import ResolvedPlace, read_holders
from vaults.domain.code.symbol_lookup import (
    StoredSymbol,
    find_file,
    find_symbol,
    list_symbols,
)
from vaults.domain.code.symbol_search import SymbolQuery, find_symbols, is_test
from vaults.domain.paging import token_budget
from vaults.errors import InvalidArgument, NotFound
from vaults.vault import Vault

ALL_KINDS = ("call", "inherit", "use")
MAX_CHOICES = 50
"""Definitions of one name that are told apart."""


@dataclass(frozen=True, slots=True)
class CodeTarget:
    """What is asked about: a symbol by id or by name, narrowed by ``query``'s other fields, or a file by its path."""

    query: SymbolQuery
    id: str | None = None


@dataclass(frozen=True, slots=True)
class CodePage:
    """How much is wanted."""

    limit: int = 20
    max_tokens: int = 2000


async def list_definitions(vault: Vault, actor: Actor, target: CodeTarget, page: CodePage) -> CodeAnswer:
    """Where it is defined, best first."""

    def read(tx: Reader) -> CodeAnswer:
        if target.id is not None:
            return CodeAnswer(symbols=[to_row(_open_symbol(tx, actor, target.id), "exact")], total=1)
        found = find_symbols(tx, actor, target.query, page.limit + 1)
        rows = [to_row(each.symbol, each.match) for each in found[: page.limit]]
        return CodeAnswer(symbols=rows, total=len(rows), truncated=len(found) > page.limit)

    return await _fit(vault, await vault.db.read(read), page)


async def outline_file(vault: Vault, actor: Actor, path: str, page: CodePage) -> CodeAnswer:
    """What a file defines, in order, and what it imports. Raises ``NotFound`` and ``InvalidArgument``."""

    def read(tx: Reader) -> CodeAnswer:
        symbol = find_symbol(tx, actor, path)
        file = find_file(tx, actor, symbol.path if symbol else path.partition("#")[0])
        symbols = list_symbols(tx, file)
        imports = tx.all(
            "SELECT module, group_concat(name, ', ') FROM code_imports WHERE document = :document GROUP BY module"
            " ORDER BY MIN(number) LIMIT 200",
            {"document": file.document},
        )
        rows = [to_row(each, brief=True) for each in symbols[: page.limit]]
        return CodeAnswer(
            symbols=rows,
            total=len(symbols),
            path=file.path,
            language=file.language,
            lines=file.lines,
            imports=[f"{module}: {names}" if names.strip(", ") else module for module, names in imports],
            truncated=len(symbols) > page.limit,
            warnings=[] if file.parsed else ["no grammar read this file: its symbols are not known"],
        )

    return await _fit(vault, await vault.db.read(read), page)


async def list_references(
    vault: Vault, actor: Actor, target: CodeTarget, page: CodePage, *, calls_only: bool = False
) -> CodeAnswer:
    """Where a symbol is named, or called: the surest first, tests last. Raises ``NotFound``."""

    def read(tx: Reader) -> CodeAnswer:
        meant = _find_meant(tx, actor, target)
        found = resolution.resolve(tx, actor, meant, ("call", "inherit") if calls_only else ALL_KINDS)
        ordered = sorted(found.places, key=_order)
        rows = _to_place_rows(tx, ordered[: page.limit], with_meant=len(meant) > 1)
        return CodeAnswer(
            symbols=to_rows(meant[:MAX_CHOICES] if len(meant) > 1 else meant),
            places=rows,
            total=len(ordered),
            open=found.open,
            truncated=len(ordered) > page.limit or found.truncated,
            warnings=[APPROXIMATE, *_tell_choices(meant, found.open)],
        )

    return await _fit(vault, await vault.db.read(read), page)


async def trace_impact(vault: Vault, actor: Actor, target: CodeTarget, depth: int, page: CodePage) -> CodeAnswer:
    """What depends on a symbol or a file, step by step, nearest first. Raises ``NotFound``."""

    def read(tx: Reader) -> CodeAnswer:
        if target.id is None and not target.query.name:
            file = find_file(tx, actor, target.query.path or "")
            meant, found = [], dependents.of_file(tx, actor, file, depth)
        else:
            meant = _find_meant(tx, actor, target)
            found = dependents.of_symbols(tx, actor, meant, depth)
        rows = found.rows[: page.limit]
        return CodeAnswer(
            symbols=to_rows(meant[:MAX_CHOICES]),
            places=rows,
            total=len(found.rows),
            open=found.open,
            truncated=len(found.rows) > page.limit or found.truncated,
            warnings=[APPROXIMATE, *_tell_choices(meant, found.open)],
        )

    return await _fit(vault, await vault.db.read(read), page)


def _open_symbol(tx: Reader, actor: Actor, ref: str) -> StoredSymbol:
    symbol = find_symbol(tx, actor, ref)
    if symbol is None:
        raise NotFound(f"no symbol {ref[:300]}: its file may have changed; look its name up again")
    return symbol


def _find_meant(tx: Reader, actor: Actor, target: CodeTarget) -> list[StoredSymbol]:
    """The definitions of one name that are asked about."""
    if target.id is not None:
        return [_open_symbol(tx, actor, target.id)]
    if not target.query.name:
        raise InvalidArgument("name", "is needed, or id")
    found = [each.symbol for each in find_symbols(tx, actor, target.query, MAX_CHOICES) if each.match == "exact"]
    if not found:
        raise NotFound(f"nothing here defines {target.query.name[:200]}")
    first = found[0]
    asked = target.query.name
    named = [each for each in found if each.name == first.name]
    whole = [each for each in named if each.qualified == asked or each.qualified.endswith(f".{asked}")]
    return whole or named


def _tell_choices(meant: Sequence[StoredSymbol], open_: int) -> list[str]:
    told = []
    if len(meant) > 1:
        told.append(f"{len(meant)} definitions have this name: give the id of one, or path or kind")
    if open_:
        told.append(f"{open_} more places of this name could mean any of several definitions, and are left out")
    return told


_SURENESS = {"exact": 0, "import": 1, "name": 2}


def _order(each: ResolvedPlace) -> tuple[object, ...]:
    return (_SURENESS[each.sure], is_test(each.place.path), each.place.path, each.place.lines[:1])


def _to_place_rows(tx: Reader, found: Sequence[ResolvedPlace], *, with_meant: bool) -> list[CodePlaceRow]:
    holders = read_holders(tx, found)
    rows = [to_place_row(each, holders.get((each.place.document, each.place.within))) for each in found]
    return [replace(row, meant=each.meant.id) if with_meant else row for row, each in zip(rows, found, strict=True)]


async def _fit(vault: Vault, answer: CodeAnswer, page: CodePage) -> CodeAnswer:
    """As much of an answer as its budget has room for: places, if there are any, after a few definitions."""
    if not answer.places:
        symbols = await token_budget.fit_rows(vault, answer.symbols, page.max_tokens)
        return replace(answer, symbols=symbols, truncated=answer.truncated or len(symbols) < len(answer.symbols))
    symbols = await token_budget.fit_rows(vault, answer.symbols, max(200, page.max_tokens // 3))
    taken = sum(map(len, map(token_budget.to_sent_json, symbols))) // 3
    places = await token_budget.fit_rows(vault, answer.places, max(150, page.max_tokens - taken))
    cut = len(places) < len(answer.places) or len(symbols) < len(answer.symbols)
    return replace(answer, symbols=symbols, places=places, truncated=answer.truncated or cut)
