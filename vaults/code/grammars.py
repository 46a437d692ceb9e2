"""Tree-sitter's grammars, loaded on first use. They are the extra ``strongroom[code]``; each may be missing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from vaults.code.languages import BY_NAME, SourceLanguage

EXTRA = "strongroom[code]"
"""What to install where a grammar is missing."""


@dataclass(frozen=True, slots=True)
class LoadedGrammar:
    """A grammar with the queries of its language: ``structure`` finds symbols, calls and imports, ``names`` every name
    that is used."""

    grammar: Any
    structure: Any
    names: Any


@cache
def load_grammar(language: SourceLanguage) -> LoadedGrammar | None:
    """The grammar of a language; None: it is not installed, or of a version that does not fit."""
    try:
        tree_sitter = import_module("tree_sitter")
        module, function = language.grammar
        grammar = tree_sitter.Language(getattr(import_module(module), function)())
    except (ImportError, AttributeError, ValueError):
        return None
    folder = files("vaults.code") / "queries"
    texts = [(folder / f"{name}.scm").read_text(encoding="utf-8") for name in language.queries or (language.name,)]
    names = "\n".join(f"({kind}) @name" for kind in language.names)
    return LoadedGrammar(
        grammar,
        tree_sitter.Query(grammar, "\n".join(texts)),
        tree_sitter.Query(grammar, names),
    )


def parse_source(grammar: LoadedGrammar, source: bytes) -> Any:
    """The root of a file's syntax tree. Whatever the bytes are, there is one."""
    return import_module("tree_sitter").Parser(grammar.grammar).parse(source).root_node


def query_structure(grammar: LoadedGrammar, root: Any) -> list[tuple[int, dict[str, list[Any]]]]:
    """The matches of a grammar's query below a node: pattern, and nodes by capture."""
    found: list[tuple[int, dict[str, list[Any]]]] = _cursor(grammar.structure).matches(root)
    return found


def query_names(grammar: LoadedGrammar, root: Any) -> list[Any]:
    """Every node below a node that names something."""
    found: list[Any] = _cursor(grammar.names).captures(root).get("name", [])
    return found


def is_garbled(root: Any) -> bool:
    """Whether a grammar made so little of a part of the text that it holds nothing but loose words in large numbers:
    for each of them a query looks at all the others."""
    todo, seen = [root], 0
    while todo and seen < MAX_ERRORS:
        node = todo.pop()
        if not node.has_error:
            continue
        if node.is_error and node.child_count > MAX_LOOSE:
            return True
        seen += 1
        todo += node.children
    return bool(todo)


MAX_LOOSE = 3_000
"""Words in an error: a long statement has a hundred."""

MAX_ERRORS = 20_000
"""Nodes on the way to errors: a file of another language has more."""

MATCH_LIMIT = 4096
"""Matches under way at once: more would make hostile text cost more than it is long."""


MAX_TREE_DEPTH = 400
"""Nodes in nodes that are looked into: at each the cursor looks at all above it, and nobody writes deeper."""


def _cursor(query: Any) -> Any:
    cursor = import_module("tree_sitter").QueryCursor(query, match_limit=MATCH_LIMIT)
    cursor.set_max_start_depth(MAX_TREE_DEPTH)
    return cursor


def list_missing() -> list[str]:
    """The languages whose grammar cannot be loaded."""
    return [name for name, language in BY_NAME.items() if load_grammar(language) is None]
