"""Reads a source file: what it defines, names and imports, and chunks that cover it. Pure.

Runs in a worker process, because a grammar is a large program in C and files come from anywhere. What is too wide for
a grammar is cut at its lines, without a look at what it says.
"""

from __future__ import annotations

from collections.abc import Sequence

from vaults.code.chunks import cut_chunks
from vaults.code.code_outline import CodeOutline
from vaults.code.grammars import EXTRA, is_garbled, load_grammar, parse_source
from vaults.code.languages import PLAIN, SourceLanguage, find_language
from vaults.code.syntax import SyntaxFindings, read_syntax

MAX_CHARACTERS = 1_000_000
"""Characters of a file a grammar reads: what is longer was written by a program."""

MAX_LINE = 20_000
"""Characters of a line a grammar reads: nobody types a longer one."""

PROBED, PROBE = 100_000, 20_000
"""Characters of a file whose beginning is read first, and of that beginning: what is no code at all costs a grammar the
square of its length."""

_NOT_READABLE = "this is no {} that its grammar can read: cut at its lines"

MAX_NESTING = 1_000
"""Brackets in brackets a grammar reads."""


def outline_source(text: str, name: str) -> CodeOutline:
    """The outline of a file. ``name``: its path or name, by which its language is known. Never raises: what no grammar
    reads is cut at its lines."""
    lines = _split_lines(text)
    language = find_language(name, text)
    if language is None:
        return CodeOutline(PLAIN, False, len(lines), cut_chunks(lines, ()))
    problem = _find_problem(text, lines)
    found = _read(text, lines, language) if problem is None else problem
    if isinstance(found, str):
        return CodeOutline(language.name, False, len(lines), cut_chunks(lines, ()), warnings=(found,))
    return CodeOutline(
        language=language.name,
        parsed=True,
        lines=len(lines),
        chunks=cut_chunks(lines, found.symbols),
        symbols=found.symbols,
        references=found.references,
        imports=found.imports,
        warnings=("it defines or names more than is kept of one file",) if found.truncated else (),
    )


def _split_lines(text: str) -> list[str]:
    """Lines with their ends, as tree-sitter counts them."""
    return [line for line in _keep_ends(text.split("\n")) if line]


def _keep_ends(parts: Sequence[str]) -> list[str]:
    return [*(f"{part}\n" for part in parts[:-1]), parts[-1]]


def _find_problem(text: str, lines: Sequence[str]) -> str | None:
    """Why a file is not given to a grammar."""
    if len(text) > MAX_CHARACTERS:
        return f"longer than {MAX_CHARACTERS} characters: cut at its lines"
    if max(map(len, lines), default=0) > MAX_LINE:
        return f"a line is longer than {MAX_LINE} characters: cut at its lines"
    if _is_nested_deeply(text):
        return f"more than {MAX_NESTING} brackets in brackets: cut at its lines"
    return None


def _is_nested_deeply(text: str) -> bool:
    """Whether brackets could stand that deep in each other, those in strings counted in."""
    if max(map(text.count, "([{")) <= MAX_NESTING // 3:
        return False
    depth = 0
    for character in text:
        if character in "([{":
            depth += 1
            if depth > MAX_NESTING:
                return True
        elif character in ")]}":
            depth = max(0, depth - 1)
    return False


def _read(text: str, lines: Sequence[str], language: SourceLanguage) -> SyntaxFindings | str:
    grammar = load_grammar(language)
    if grammar is None:
        return f"the grammar of {language.name} is not installed ({EXTRA}): cut at its lines"
    if len(text) > PROBED and is_garbled(parse_source(grammar, text[:PROBE].encode("utf-8", "replace"))):
        return _NOT_READABLE.format(language.name)
    found = read_syntax(text.encode("utf-8", "replace"), lines, language, grammar)
    return _NOT_READABLE.format(language.name) if found is None else found
