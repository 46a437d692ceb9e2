"""What depends on a symbol or a file, and what on that, up to three steps. A guess is told, and not followed on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.code import resolution
from vaults.domain.code.code_answers import CodePlaceRow, to_place_row
from vaults.domain.code.import_reach import MAX_ROWS
from vaults.domain.code.module_paths import fits, last_word
from vaults.domain.code.symbol_lookup import (
    VISIBLE,
    CodeFile,
    StoredSymbol,
    list_symbols,
)

MAX_DEPTH = 3

MAX_FOLLOWED = 60
"""Symbols, or files, of one step that are followed to the next."""

MAX_FOUND = 1_000
"""Dependents that are told in all."""

_KINDS = ("call", "inherit", "use")
_TOP = frozenset({"class", "interface", "enum", "type", "function", "constant"})


@dataclass(slots=True)
class FoundDependents:
    """What depends on it, nearest first. ``open``: places that could mean any of several definitions."""

    rows: list[CodePlaceRow] = field(default_factory=list)
    open: int = 0
    truncated: bool = False
    seen: set[str] = field(default_factory=set)

    def add(self, row: CodePlaceRow) -> bool:
        """Tell of a dependent; whether it is new."""
        if row.id in self.seen:
            return False
        if len(self.rows) >= MAX_FOUND:
            self.truncated = True
            return False
        self.seen.add(row.id)
        self.rows.append(row)
        return True


def of_symbols(tx: Reader, actor: Actor, meant: Sequence[StoredSymbol], depth: int) -> FoundDependents:
    """What calls, inherits or uses symbols of one name, and what does so with that."""
    found = FoundDependents(seen={each.id for each in meant})
    step: list[Sequence[StoredSymbol]] = [meant]
    for number in range(1, min(depth, MAX_DEPTH) + 1):
        after: dict[tuple[int, int], StoredSymbol] = {}
        for group in step[:MAX_FOLLOWED]:
            after |= _add_places(tx, actor, found, group, number)
        found.truncated = found.truncated or len(step) > MAX_FOLLOWED
        step = [[each] for each in after.values()]
        if not step:
            break
    return found


def _add_places(
    tx: Reader, actor: Actor, found: FoundDependents, meant: Sequence[StoredSymbol], depth: int
) -> dict[tuple[int, int], StoredSymbol]:
    """Tell of the places of symbols; returns those to follow further."""
    resolved = resolution.resolve(tx, actor, meant, _KINDS)
    found.open += resolved.open if depth == 1 else 0
    found.truncated = found.truncated or resolved.truncated
    holders = resolution.read_holders(tx, resolved.places)
    own = {each.key for each in meant}
    follow: dict[tuple[int, int], StoredSymbol] = {}
    for each in resolved.places:
        holder = holders.get((each.place.document, each.place.within))
        if holder is not None and holder.key in own:
            continue  # it calls itself
        row = replace(to_place_row(each, holder), depth=depth, through=each.meant.qualified if depth > 1 else "")
        if found.add(row) and holder is not None and each.sure != "name":
            follow[holder.key] = holder
    return follow


def of_file(tx: Reader, actor: Actor, file: CodeFile, depth: int) -> FoundDependents:
    """The files that import a file, and those that import these; and, of the first step, what names its symbols."""
    found = FoundDependents(seen={file.document_id})
    step = [(file.document, file.module, file.path)]
    known: set[int] = {file.document}
    for number in range(1, min(depth, MAX_DEPTH) + 1):
        after: list[tuple[int, str, str]] = []
        for _, module, path in step[:MAX_FOLLOWED]:
            for importer in _read_importers(tx, actor, module, known):
                known.add(importer.document)
                after.append((importer.document, importer.module, importer.path))
                found.add(replace(importer.row, depth=number, through=path if number > 1 else ""))
        found.truncated = found.truncated or len(step) > MAX_FOLLOWED
        step = after
    for symbol in [each for each in list_symbols(tx, file) if each.kind in _TOP][:MAX_FOLLOWED]:
        for row in of_symbols(tx, actor, [symbol], 1).rows:
            if row.path != file.path:
                found.add(replace(row, through=symbol.qualified))
    found.rows.sort(key=lambda row: row.depth)
    return found


@dataclass(frozen=True, slots=True)
class _Importer:
    document: int
    module: str
    path: str
    row: CodePlaceRow


def _read_importers(tx: Reader, actor: Actor, module: str, known: Collection[int]) -> list[_Importer]:
    """The files that import a module, each once."""
    stem = last_word(module)
    rows = tx.all(
        "SELECT i.document, i.module, i.name, MIN(i.line), d.uri, d.id, f.module FROM code_imports i"
        " JOIN documents d ON d.seq = i.document JOIN code_files f ON f.document = i.document"
        f" WHERE {VISIBLE} AND (i.stem = :stem OR i.name = :stem) GROUP BY i.document, i.module, i.name"
        " ORDER BY d.uri LIMIT :most",
        {"viewer": actor.identity, "stem": stem, "most": MAX_ROWS},
    )
    found: dict[int, _Importer] = {}
    for document, target, name, line, uri, document_id, own in rows:
        if document in known or not (fits(target, module) or (name and fits(f"{target}/{name}", module))):
            continue
        row = CodePlaceRow(id=document_id, path=uri, lines=[int(line)], kind="import", sure="import")
        found.setdefault(document, _Importer(document, own, uri, row))
    return list(found.values())
