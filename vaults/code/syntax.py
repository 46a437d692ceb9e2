"""From a syntax tree to symbols, references and imports.

Walks no tree itself: tree-sitter's queries find the nodes, and what stands in what follows from where they begin and
end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from vaults.code.code_outline import CodeImport, CodeReference, CodeSymbol, ReferenceKind, SymbolKind
from vaults.code.comments import LeadingLines, read_leading, summarise_docstring
from vaults.code.definitions import MAX_SYMBOLS, FoundDefinition, PlaceIndex, nest_definitions
from vaults.code.grammars import LoadedGrammar, is_garbled, parse_source, query_names, query_structure
from vaults.code.languages import SourceLanguage

MAX_NAME, MAX_SIGNATURE, MAX_MODULE = 200, 300, 300
"""Characters of a name, a signature and a module that are kept."""

MAX_QUALIFIER = 100
"""Bytes of what stands before the dot, above which it is left out."""

UNKNOWN = "?"
"""Before the dot: something that has no name."""

MAX_REFERENCES, MAX_IMPORTS = 100_000, 5_000
"""Of one file."""

_SYMBOL, _SCOPE = "symbol.", "scope."
_REFERENCES: tuple[tuple[str, ReferenceKind], ...] = (("call", "call"), ("inherit", "inherit"), ("member", "use"))
_QUALIFIER = re.compile(r"[\w.:$@>\\-]+")
_OPENS_BODY = re.compile(r"(?:\s*(?:=>|[{:=]))+\s*$")
_TYPE_ARGUMENTS = re.compile(r"<[^<>]*>")
_SEPARATORS = re.compile(r"::|\.|\\|->")


@dataclass(frozen=True, slots=True)
class SyntaxFindings:
    """What a file defines, names and imports, in order of place. ``truncated``: there was more than is kept."""

    symbols: tuple[CodeSymbol, ...]
    references: tuple[CodeReference, ...]
    imports: tuple[CodeImport, ...]
    truncated: bool


@dataclass(slots=True)
class _Found:
    """Nodes by what they are, as the query gave them. Text is cut from ``source``: a node copies all of its own, and a
    chain of calls holds every shorter one."""

    source: bytes
    definitions: dict[tuple[int, bool], FoundDefinition] = field(default_factory=dict)
    docs: list[Any] = field(default_factory=list)
    references: list[tuple[int, Any, str, ReferenceKind]] = field(default_factory=list)
    members: list[tuple[int, Any, str]] = field(default_factory=list)
    imports: list[CodeImport] = field(default_factory=list)
    plain_imports: dict[int, CodeImport] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)

    def text(self, node: Any, most: int) -> str:
        """What a node says, up to so many bytes."""
        start = node.start_byte
        return self.source[start : min(node.end_byte, start + most)].decode("utf-8", "replace")


def read_syntax(
    source: bytes, lines: Sequence[str], language: SourceLanguage, grammar: LoadedGrammar
) -> SyntaxFindings | None:
    """The symbols, references and imports of a file, given as bytes and as lines; None: its grammar does not fit it."""
    root = parse_source(grammar, source)
    if is_garbled(root):
        return None
    found = _Found(source)
    for pattern, captures in query_structure(grammar, root):
        _sort_match(found, pattern, captures, language)
    found.imports += found.plain_imports.values()
    found.imports.sort(key=lambda each: each.line)
    kept = nest_definitions(sorted(found.definitions.values(), key=lambda each: (each.start, -each.end, each.rank)))
    symbols = _to_symbols(found, kept, lines, language)
    places = PlaceIndex(kept)
    references = list(_to_references(found, places, _find_names(found, symbols, root, grammar)))
    return SyntaxFindings(
        symbols,
        tuple(references[:MAX_REFERENCES]),
        tuple(found.imports[:MAX_IMPORTS]),
        truncated=len(found.definitions) > MAX_SYMBOLS or len(references) > MAX_REFERENCES,
    )


def _sort_match(found: _Found, pattern: int, captures: dict[str, list[Any]], language: SourceLanguage) -> None:
    if "name" in captures:
        _add_definition(found, pattern, captures, language)
    elif "module" in captures or "statement" in captures:
        _add_imports(found, captures, language)
    elif "doc" in captures:
        found.docs.append(captures["doc"][0])
    for capture, kind in _REFERENCES:
        for node in captures.get(capture, ()):
            on = _read_qualifier(found, captures["on"][0]) if "on" in captures else ""
            _add_reference(found, node, on, kind)


def _add_definition(found: _Found, pattern: int, captures: dict[str, list[Any]], language: SourceLanguage) -> None:
    """Of several patterns that fit one name, the first in the query counts."""
    name_node = captures["name"][0]
    capture = next((each for each in captures if each.startswith((_SYMBOL, _SCOPE))), None)
    if capture is None:
        return
    node, is_scope = captures[capture][0], capture.startswith(_SCOPE)
    key = (name_node.start_byte, is_scope)
    known = found.definitions.get(key)
    if (known is not None and known.rank <= pattern) or len(found.definitions) > MAX_SYMBOLS:
        return
    *before, name = _SEPARATORS.split(_TYPE_ARGUMENTS.sub("", found.text(name_node, MAX_NAME))) or [""]
    of = _read_qualifier(found, captures["of"][0]) if "of" in captures else ".".join(filter(None, before))
    name = name.strip("'\"`() ")
    if not name or "\n" in name or (" " in name and not name.startswith("operator")):
        return
    outer = _with_wrappers(node, language)
    found.definitions[key] = FoundDefinition(
        start=outer.start_byte,
        end=node.end_byte,
        node=node,
        top=outer.start_point[0],
        row=name_node.start_point[0],
        name=name,
        of=of,
        kind=capture.partition(".")[2],
        rank=pattern,
        is_scope=is_scope,
    )
    found.taken.add(name_node.start_byte)


def _add_reference(found: _Found, node: Any, on: str, kind: ReferenceKind) -> None:
    start = node.start_byte
    if kind == "use":
        found.members.append((start, node, on))
    else:
        found.references.append((start, node, on, kind))
        found.taken.add(start)


def _add_imports(found: _Found, captures: dict[str, list[Any]], language: SourceLanguage) -> None:
    if "statement" in captures:
        node = captures["statement"][0]
        found.imports += _read_statement(found.text(node, 2000), node.start_point[0] + 1)
        return
    node = captures["module"][0]
    module = found.text(node, MAX_MODULE).strip("'\"<>` ;()")
    imported = captures.get("imported")
    name = found.text(imported[0], MAX_NAME).strip("'\"") if imported else ""
    alias = found.text(captures["alias"][0], MAX_NAME).strip("'\"") if "alias" in captures else ""
    if not imported and language.members:
        module, _, name = module.rpartition(".")
    name = "*" if name.endswith("*") else name
    if module or name:
        each = CodeImport(module or name, name if module else "", alias, node.start_point[0] + 1)
        known = found.plain_imports.pop(node.start_byte, None)
        if not imported and not alias and known is None:
            found.plain_imports[node.start_byte] = each
        else:
            found.imports.append(each)
    for nodes in (imported or [], captures.get("alias", []), captures["module"]):
        found.taken.update(each.start_byte for each in nodes)


def _read_statement(text: str, line: int) -> Iterator[CodeImport]:
    """The imports of a statement such as ``import a.b.{C, D => E}``."""
    for clause in re.split(r",(?![^{]*\})", text.removeprefix("import")):
        module, _, members = clause.strip().rpartition(".")
        for member in members.strip("{} \n").split(","):
            name, _, alias = member.replace(" as ", "=>").partition("=>")
            name = name.strip()
            if module and name:
                yield CodeImport(module, "*" if name in ("_", "*") else name, alias.strip(), line)


def _to_symbols(
    found: _Found, kept: Sequence[FoundDefinition], lines: Sequence[str], language: SourceLanguage
) -> tuple[CodeSymbol, ...]:
    places = PlaceIndex(kept)
    said = {places.find(node.start_byte): node for node in reversed(found.docs)}
    kept_rows = {each.number: each.top for each in kept}
    symbols = []
    for each in kept:
        if each.number is None:
            continue
        alone = each.parent is None or kept_rows.get(each.parent) != each.top
        leading = read_leading(lines, each.top, language) if alone else LeadingLines(each.top, "")
        doc = summarise_docstring(found.text(said[each.number], 2000)) if each.number in said else leading.summary
        row, column = each.node.end_point
        last = row if column or row == each.node.start_point[0] else row - 1
        symbols.append(
            CodeSymbol(
                name=each.name,
                qualified=each.qualified,
                kind=cast(SymbolKind, each.kind),
                signature=_read_signature(found, each.node),
                doc=doc,
                first_line=leading.first + 1,
                last_line=min(last, len(lines) - 1) + 1,
                line=each.row + 1,
                parent=each.parent,
            )
        )
    return tuple(symbols)


def _with_wrappers(node: Any, language: SourceLanguage) -> Any:
    for _ in range(3):
        parent = node.parent if language.wrappers else None
        if parent is None or parent.type not in language.wrappers:
            break
        node = parent
    return node


def _read_signature(found: _Found, node: Any) -> str:
    """A definition up to its body, on one line."""
    body = node.child_by_field_name("body")
    if body is not None and body.start_byte > node.start_byte:
        text = found.text(node, min(4 * MAX_SIGNATURE, body.start_byte - node.start_byte))
    else:
        text = found.text(node, 4 * MAX_SIGNATURE).partition("\n")[0]
    short = _OPENS_BODY.sub("", " ".join(text.split()))
    return short if len(short) <= MAX_SIGNATURE else f"{short[: MAX_SIGNATURE - 1]}…"


def _find_names(
    found: _Found, symbols: Sequence[CodeSymbol], root: Any, grammar: LoadedGrammar
) -> list[tuple[int, Any, str]]:
    """Where names are used that this file imports or defines, besides calls: others say nothing that could be
    followed."""
    bound = {_bound_name(each) for each in found.imports}
    wanted = bound | {symbol.name for symbol in symbols if symbol.parent is None}
    known = {name.encode() for name in wanted if name}
    used = [(start, node, on) for start, node, on in found.members if on in bound and start not in found.taken]
    if not known:
        return used
    for node in query_names(grammar, root):
        start = node.start_byte
        if found.source[start : node.end_byte] in known and start not in found.taken:
            used.append((start, node, ""))
    return used


def _bound_name(each: CodeImport) -> str:
    """What an import is called in its file."""
    return each.alias or each.name or _SEPARATORS.split(each.module.rpartition("/")[2])[-1]


def _to_references(found: _Found, places: PlaceIndex, names: Sequence[tuple[int, Any, str]]) -> Iterator[CodeReference]:
    everything = [*found.references, *((start, node, on, "use") for start, node, on in names)]
    seen: set[tuple[str, str, str, int]] = set()
    importing = {each.line for each in found.imports}
    for start, node, on, kind in sorted(everything, key=lambda each: each[0]):
        name, line, within = found.text(node, MAX_NAME), node.start_point[0] + 1, places.find(start)
        if not name or (name, on, kind, line) in seen or (kind == "use" and within is None and line in importing):
            continue
        seen.add((name, on, kind, line))
        yield CodeReference(name, on, kind, line, within)


def _read_qualifier(found: _Found, node: Any) -> str:
    """What stands before the dot, if it is names only; else a mark that something does."""
    if node.end_byte - node.start_byte > MAX_QUALIFIER:
        return UNKNOWN
    plain = found.text(node, MAX_QUALIFIER).removesuffix("()")
    return plain if _QUALIFIER.fullmatch(plain) else UNKNOWN
