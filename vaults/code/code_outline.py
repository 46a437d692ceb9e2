"""What is read of a source file: pieces that cover it, what it defines, what it names, and what it imports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SymbolKind = Literal["module", "class", "interface", "enum", "type", "function", "method", "constant", "field"]
"""What a symbol is. Structs and records are classes, traits and protocols interfaces, namespaces and packages modules;
a constant is whatever else has a name at the top of a file."""

ReferenceKind = Literal["call", "inherit", "use"]


@dataclass(frozen=True, slots=True)
class CodeChunk:
    """A piece of a file: a symbol, several small ones, or what lies between. ``symbol`` is its qualified name, empty
    between symbols; lines count from 1. The chunks of a file, one after the other, are its text."""

    text: str
    symbol: str
    kind: str
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class CodeSymbol:
    """A definition. ``qualified``: with the names it stands in, joined by dots; ``parent``: the number of the symbol it
    stands in; ``signature``: on one line; ``doc``: the first line of what is said of it; ``line``: where it is defined;
    ``first_line`` to ``last_line``: all of it, with the comments and decorators above it."""

    name: str
    qualified: str
    kind: SymbolKind
    signature: str
    doc: str
    first_line: int
    last_line: int
    line: int
    parent: int | None = None


@dataclass(frozen=True, slots=True)
class CodeReference:
    """A name that is called, inherited from or used. ``on``: what stands before the dot; ``within``: the number of the
    symbol that names it."""

    name: str
    on: str
    kind: ReferenceKind
    line: int
    within: int | None = None


@dataclass(frozen=True, slots=True)
class CodeImport:
    """A module that is imported, as written. ``name``: what is taken from it, "*" for everything, empty for the module
    itself; ``alias``: what it is called here, where that is another name."""

    module: str
    name: str
    alias: str
    line: int


@dataclass(frozen=True, slots=True)
class CodeOutline:
    """A source file. ``language``: as in ``languages``, or "text"; ``parsed``: whether a grammar read it, else it was
    cut at its lines and nothing is known of what it defines; ``warnings``: what was left out, and why."""

    language: str
    parsed: bool
    lines: int
    chunks: tuple[CodeChunk, ...]
    symbols: tuple[CodeSymbol, ...] = ()
    references: tuple[CodeReference, ...] = ()
    imports: tuple[CodeImport, ...] = ()
    warnings: tuple[str, ...] = ()
