"""The answers to questions about code: symbols, places and what depends on what, as they are sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from vaults.domain.code.resolution import ResolvedPlace
from vaults.domain.code.symbol_lookup import StoredSymbol

APPROXIMATE = (
    "Approximate: no types are known. sure: exact, in the same file; import, its file imports it; name, only the name"
    " fits"
)


@dataclass(frozen=True, slots=True)
class CodeSymbolRow:
    """A definition. ``id`` is read with fetch; ``name``: with the names it stands in; ``line``: where it is defined;
    ``lines``: all of it; ``match``: how its name fits: exact, prefix or parts."""

    id: str
    name: str
    kind: str
    path: str
    line: int
    lines: str
    language: str = ""
    signature: str = ""
    doc: str = ""
    match: str = ""


@dataclass(frozen=True, slots=True)
class CodePlaceRow:
    """Where something is named. ``id`` and ``within``: the symbol that names it, else its file; ``kind``: call,
    inherit, use or import; ``sure``: exact, import or name; ``meant``: id of the definition; ``depth``: steps from what
    was asked about, and ``through`` what it is reached."""

    id: str
    path: str
    lines: list[int]
    kind: str
    sure: str
    within: str = ""
    meant: str = ""
    depth: int = 1
    through: str = ""


@dataclass(frozen=True, slots=True)
class CodeAnswer:
    """What is known. ``symbols``: definitions, or those a name may mean; ``places``: where they are named; ``total``:
    how many there are in all; ``open``: further places of the name that could mean any of several."""

    symbols: list[CodeSymbolRow] = field(default_factory=list)
    places: list[CodePlaceRow] = field(default_factory=list)
    total: int = 0
    open: int = 0
    path: str | None = None
    language: str | None = None
    lines: int | None = None
    imports: list[str] = field(default_factory=list)
    truncated: bool = False
    warnings: list[str] = field(default_factory=list)


def to_row(symbol: StoredSymbol, match: str = "", *, brief: bool = False) -> CodeSymbolRow:
    """A symbol as it is sent; ``brief``: without what everything of one file shares."""
    return CodeSymbolRow(
        id=symbol.id,
        name=symbol.qualified,
        kind=symbol.kind,
        path="" if brief else symbol.path,
        line=symbol.line,
        lines=f"{symbol.first_line}–{symbol.last_line}",
        language="" if brief else symbol.language,
        signature=symbol.signature,
        doc=symbol.doc,
        match=match,
    )


def to_rows(symbols: Iterable[StoredSymbol]) -> list[CodeSymbolRow]:
    return [to_row(each) for each in symbols]


def to_place_row(found: ResolvedPlace, holder: StoredSymbol | None) -> CodePlaceRow:
    """A place as it is sent. ``holder``: the symbol it stands in."""
    place = found.place
    return CodePlaceRow(
        id=holder.id if holder else place.document_id,
        path=place.path,
        lines=list(place.lines),
        kind=place.kind,
        sure=found.sure,
        within=holder.qualified if holder else "",
    )
