"""Symbols by their id, and files of code by their path.

A symbol's id is that of its document, ``#``, and its qualified name, with ``~2`` behind the second of that name. It
stays what it is when lines move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.code.intake import describe_lines
from vaults.domain.documents import indexing
from vaults.domain.documents.document_model import Document, DocumentPart
from vaults.errors import InvalidArgument, NotFound
from vaults.index.blocks import SEPARATOR

VISIBLE = "d.kind = 'code' AND (d.visibility = 'shared' OR d.stored_by = :viewer)"
"""Documents ``d`` of code that the viewer may see."""

SYMBOL_COLUMNS = (
    "s.document, s.number, s.name, s.qualified, s.label, s.kind, s.signature, s.doc, s.line, s.first_line, s.last_line,"
    " s.parent, d.id, d.uri, f.language, f.module"
)
SYMBOLS = "code_symbols s JOIN documents d ON d.seq = s.document JOIN code_files f ON f.document = s.document"

MAX_FILES = 10
"""Files that are named where a path fits several."""


@dataclass(frozen=True, slots=True)
class StoredSymbol:
    """A symbol with its place: the row, its file, and that file's document."""

    document: int
    number: int
    name: str
    qualified: str
    label: str
    kind: str
    signature: str
    doc: str
    line: int
    first_line: int
    last_line: int
    parent: int | None
    document_id: str
    path: str
    language: str
    module: str

    @property
    def id(self) -> str:
        return f"{self.document_id}#{self.label}"

    @property
    def holder(self) -> str:
        """The name of what it stands in; empty at the top of a file."""
        return self.qualified.rpartition(".")[0].rpartition(".")[2]

    @property
    def key(self) -> tuple[int, int]:
        return self.document, self.number


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A file of code: its document, and what is known of it."""

    document: int
    document_id: str
    path: str
    language: str
    module: str
    lines: int
    parsed: bool


def to_symbol(row: Sequence[Any]) -> StoredSymbol:
    """From the values of ``SYMBOL_COLUMNS``."""
    return StoredSymbol(*row)


def find_symbol(tx: Reader, actor: Actor, ref: str) -> StoredSymbol | None:
    """The symbol of an id, if there is one the actor may see."""
    document, _, label = ref.partition("://")[2].partition("#") if "://" in ref else ref.partition("#")
    if not label:
        return None
    row = tx.one(
        f"SELECT {SYMBOL_COLUMNS} FROM {SYMBOLS} WHERE {VISIBLE} AND d.id = :id AND s.label = :label",
        {"viewer": actor.identity, "id": document, "label": label},
    )
    return None if row is None else to_symbol(row)


def read_text(tx: Reader, document: int) -> str:
    """The text of a file."""
    return "".join(part.text for part in indexing.read_parts(tx, document))


def read_symbol(tx: Reader, actor: Actor, ref: str) -> tuple[Document, DocumentPart] | None:
    """The document of a symbol, and its lines as a part of it, with the comments above them."""
    symbol = find_symbol(tx, actor, ref)
    if symbol is None:
        return None
    lines = read_text(tx, symbol.document).split("\n")[symbol.first_line - 1 : symbol.last_line]
    heading = symbol.qualified.replace(".", SEPARATOR)
    place = describe_lines(symbol.first_line, symbol.last_line)
    part = DocumentPart(symbol.number, "\n".join(lines) + "\n", heading, place)
    return indexing.read_document(tx, symbol.document), part


_FILE_COLUMNS = "f.document, d.id, d.uri, f.language, f.module, f.lines, f.parsed"


def find_file(tx: Reader, actor: Actor, path: str) -> CodeFile:
    """The file of a path, of the end of one, or of a document's id. Raises ``NotFound``, and ``InvalidArgument`` where
    several fit, naming them."""
    rows = tx.all(
        f"SELECT {_FILE_COLUMNS} FROM code_files f JOIN documents d ON d.seq = f.document WHERE {VISIBLE}"
        " AND (d.uri = :path OR d.id = :path) LIMIT :most",
        {"viewer": actor.identity, "path": path, "most": MAX_FILES + 1},
    ) or tx.all(
        f"SELECT {_FILE_COLUMNS} FROM code_files f JOIN documents d ON d.seq = f.document WHERE {VISIBLE}"
        " AND substr(d.uri, -length(:ending)) = :ending ORDER BY length(d.uri), d.uri LIMIT :most",
        {"viewer": actor.identity, "ending": f"/{path.strip('/')}", "most": MAX_FILES + 1},
    )
    if not rows:
        raise NotFound(f"no file of code {path[:200]}")
    if len(rows) > 1:
        named = ", ".join(f"{uri} ({document})" for _, document, uri, *_ in rows[:MAX_FILES])
        raise InvalidArgument("path", f"fits several files: {named}; give one of these paths or ids")
    document, document_id, uri, language, module, lines, parsed = rows[0]
    return CodeFile(document, document_id, uri, language, module, int(lines), bool(parsed))


def list_symbols(tx: Reader, file: CodeFile) -> list[StoredSymbol]:
    """What a file defines, in order."""
    rows = tx.all(
        f"SELECT {SYMBOL_COLUMNS} FROM {SYMBOLS} WHERE s.document = :document ORDER BY s.number",
        {"document": file.document},
    )
    return [to_symbol(row) for row in rows]


def read_symbols(tx: Reader, keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], StoredSymbol]:
    """Symbols by document and number."""
    found: dict[tuple[int, int], StoredSymbol] = {}
    for start in range(0, len(keys), 400):
        some = ", ".join(f"({int(document)}, {int(number)})" for document, number in keys[start : start + 400])
        rows = tx.all(f"SELECT {SYMBOL_COLUMNS} FROM {SYMBOLS} WHERE (s.document, s.number) IN (VALUES {some})")
        found.update((each.key, each) for each in map(to_symbol, rows))
    return found
