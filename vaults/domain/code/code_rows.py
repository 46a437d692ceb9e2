"""The rows of what a file of code defines, names and imports. All are derived from the text of its document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from vaults.code.code_outline import CodeOutline, CodeReference, CodeSymbol
from vaults.code.identifiers import split_identifier
from vaults.db.sql import Reader, Writer
from vaults.domain.code.module_paths import last_word, to_module, to_target

TABLES = ("code_symbols", "code_references", "code_imports", "code_files")

MAX_LINES = 50
"""Lines of one name in one symbol that are kept."""


def write_outline(tx: Writer, document: int, path: str, digest: str, outline: CodeOutline) -> None:
    """Make these the rows of a document. ``digest``: of the document as it is stored."""
    delete_outline(tx, document)
    symbols = list(_to_symbol_rows(document, outline.symbols))
    named = list(_to_reference_rows(document, outline.references))
    imported = list(_to_import_rows(document, path, outline))
    module = to_module(path, outline.language)
    tx.many(_INSERT_SYMBOL, symbols)
    tx.many(_INSERT_REFERENCE, named)
    tx.many(_INSERT_IMPORT, imported)
    tx.run(
        "INSERT INTO code_files (document, hash, language, module, stem, lines, parsed, symbols, named, imported)"
        " VALUES (:document, :hash, :language, :module, :stem, :lines, :parsed, :symbols, :named, :imported)",
        {
            "document": document,
            "hash": digest,
            "language": outline.language,
            "module": module,
            "stem": last_word(module),
            "lines": outline.lines,
            "parsed": int(outline.parsed),
            "symbols": len(symbols),
            "named": len(named),
            "imported": len(imported),
        },
    )


def delete_outline(tx: Writer, document: int) -> None:
    """Remove the rows of a document."""
    for table in TABLES:
        tx.run(f"DELETE FROM {table} WHERE document = :document", {"document": document})


_SYMBOL_COLUMNS = (
    "document", "number", "name", "folded", "words", "qualified", "label", "kind", "signature", "doc", "line",
    "first_line", "last_line", "parent",
)  # fmt: skip


def _insert_into(table: str, columns: Sequence[str]) -> str:
    names, values = ", ".join(f'"{name}"' for name in columns), ", ".join(f":{name}" for name in columns)
    return f"INSERT INTO {table} ({names}) VALUES ({values})"


_INSERT_SYMBOL = _insert_into("code_symbols", _SYMBOL_COLUMNS)
_INSERT_REFERENCE = _insert_into("code_references", ("document", "number", "name", "on", "kind", "within", "lines"))
_INSERT_IMPORT = _insert_into("code_imports", ("document", "number", "module", "stem", "name", "alias", "line"))


def _to_symbol_rows(document: int, symbols: Sequence[CodeSymbol]) -> Iterable[dict[str, Any]]:
    taken: Counter[str] = Counter()
    for number, symbol in enumerate(symbols):
        taken[symbol.qualified] += 1
        again = taken[symbol.qualified]
        yield {
            "document": document,
            "number": number,
            "name": symbol.name,
            "folded": symbol.name.lower(),
            "words": f" {' '.join(split_identifier(symbol.name))} ",
            "qualified": symbol.qualified,
            "label": symbol.qualified if again == 1 else f"{symbol.qualified}~{again}",
            "kind": symbol.kind,
            "signature": symbol.signature,
            "doc": symbol.doc,
            "line": symbol.line,
            "first_line": symbol.first_line,
            "last_line": symbol.last_line,
            "parent": symbol.parent,
        }


def _to_reference_rows(document: int, references: Sequence[CodeReference]) -> Iterable[dict[str, Any]]:
    """One row for a name in a symbol, however often it stands there."""
    lines: dict[tuple[Any, ...], list[int]] = {}
    for each in references:
        lines.setdefault((each.name, each.on, each.kind, each.within), []).append(each.line)
    for number, ((name, on, kind, within), found) in enumerate(lines.items()):
        yield {
            "document": document,
            "number": number,
            "name": name,
            "on": on,
            "kind": kind,
            "within": within,
            "lines": " ".join(map(str, found[:MAX_LINES])),
        }


def _to_import_rows(document: int, path: str, outline: CodeOutline) -> Iterable[dict[str, Any]]:
    for number, each in enumerate(outline.imports):
        module = to_target(each.module, path, outline.language)
        yield {
            "document": document,
            "number": number,
            "module": module,
            "stem": last_word(module),
            "name": each.name,
            "alias": each.alias,
            "line": each.line,
        }


STALE = (
    "SELECT d.seq FROM documents d LEFT JOIN code_files f ON f.document = d.seq"
    " WHERE d.kind = 'code' AND (f.hash IS NULL OR f.hash <> d.hash"
    " OR f.symbols <> (SELECT COUNT(*) FROM code_symbols s WHERE s.document = d.seq)"
    " OR f.named <> (SELECT COUNT(*) FROM code_references r WHERE r.document = d.seq)"
    " OR f.imported <> (SELECT COUNT(*) FROM code_imports i WHERE i.document = d.seq))"
)
"""Documents whose rows are not of their text, or are not all there."""


def find_stale(tx: Reader, after: int, limit: int) -> list[int]:
    """The next documents, by ``seq``, whose rows are not of their text."""
    rows = tx.all(f"{STALE} AND d.seq > :after ORDER BY d.seq LIMIT :limit", {"after": after, "limit": limit})
    return [int(seq) for (seq,) in rows]
