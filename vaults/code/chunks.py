"""From a file's lines and symbols to chunks that cover it: a symbol each, long ones cut, small neighbours joined.

Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from vaults.code.code_outline import CodeChunk, CodeSymbol
from vaults.code.line_cuts import count_tokens, cut_lines

LONGEST = 190
"""Tokens of a chunk at most, so that it is one passage: what is cut here, by what it defines, is not cut again."""

WHOLE = 150
"""Tokens up to which a symbol with all that stands in it is one chunk."""

JOINED = 80
"""Tokens up to which neighbours share a chunk. More of them would be found by the name of none."""

LONGEST_LINE = 8_000
"""Characters of a line above which it is cut within."""

NAMED = 6
"""Symbols by which a chunk of several is called."""

_APART = frozenset({"class", "interface", "enum", "module", "function", "method", "type", "constant"})
"""Kinds that get chunks of their own: a field stays with its class."""
_HOLDERS = frozenset({"class", "interface", "enum", "module"})
"""Kinds in which symbols stand that get chunks of their own: what a function defines is its own affair."""


@dataclass(frozen=True, slots=True)
class _LineRun:
    """Lines, counted from 0, both ends counted in. ``symbols``: the numbers of those they are of."""

    first: int
    last: int
    symbols: tuple[int, ...]


def cut_chunks(lines: Sequence[str], symbols: Sequence[CodeSymbol]) -> tuple[CodeChunk, ...]:
    """Chunks in order that together are the lines. ``symbols``: in order of their places."""
    if not lines:
        return ()
    sizes = list(accumulate(map(count_tokens, lines), initial=0))
    runs = _join(list(_walk(symbols, _find_children(symbols), sizes)), lines, sizes, symbols)
    return tuple(chunk for run in runs for chunk in _to_chunks(run, lines, sizes, symbols))


def _find_children(symbols: Sequence[CodeSymbol]) -> Mapping[int | None, list[int]]:
    """The symbols with chunks of their own, by the one they stand in."""
    children: defaultdict[int | None, list[int]] = defaultdict(list)
    reached: set[int | None] = {None}
    for number, symbol in enumerate(symbols):
        if symbol.kind in _APART and symbol.parent in reached:
            children[symbol.parent].append(number)
            if symbol.kind in _HOLDERS:
                reached.add(number)
    return children


def _walk(
    symbols: Sequence[CodeSymbol], children: Mapping[int | None, list[int]], sizes: Sequence[int]
) -> Iterator[_LineRun]:
    """Runs of lines in order, each of the innermost symbol."""
    total = len(sizes) - 1
    todo: list[tuple[int, int, int | None, bool]] = [(0, total - 1, None, False)]
    reached = 0  # the first line that belongs to no run yet
    while todo:
        first, last, owner, plain = todo.pop()
        first, last = max(first, reached), min(last, total - 1)
        if first > last:
            continue
        inner = [] if plain else children.get(owner, [])
        if not inner or (owner is not None and sizes[last + 1] - sizes[first] <= WHOLE):
            yield _LineRun(first, last, () if owner is None else (owner,))
            reached = last + 1
            continue
        parts: list[tuple[int, int, int | None, bool]] = []
        at = first
        for number in inner:
            symbol = symbols[number]
            if symbol.first_line - 1 > at:
                parts.append((at, symbol.first_line - 2, owner, True))
            parts.append((symbol.first_line - 1, min(symbol.last_line - 1, last), number, False))
            at = max(at, symbol.last_line)
        parts.append((at, last, owner, True))
        todo.extend(reversed(parts))


def _join(
    runs: Sequence[_LineRun], lines: Sequence[str], sizes: Sequence[int], symbols: Sequence[CodeSymbol]
) -> list[_LineRun]:
    """Small neighbours as one, and empty lines with what stands before them."""
    joined: list[_LineRun] = []
    for run in runs:
        before = joined[-1] if joined else None
        if before is not None and all(not line.strip() for line in lines[run.first : run.last + 1]):
            joined[-1] = replace(before, last=run.last)
        elif before is not None and len(joined) == 1 and not "".join(lines[: run.first]).strip():
            joined[0] = replace(run, first=0)
        elif before is not None and _belongs(before, run, sizes, symbols):
            joined[-1] = _LineRun(before.first, run.last, tuple(dict.fromkeys((*before.symbols, *run.symbols))))
        else:
            joined.append(run)
    return joined


def _belongs(before: _LineRun, run: _LineRun, sizes: Sequence[int], symbols: Sequence[CodeSymbol]) -> bool:
    if sizes[run.last + 1] - sizes[before.first] > JOINED:
        return False
    return not before.symbols or not run.symbols or _holder(before, symbols) == _holder(run, symbols)


def _holder(run: _LineRun, symbols: Sequence[CodeSymbol]) -> str:
    """What the symbols of a run stand in."""
    return symbols[run.symbols[0]].qualified.rpartition(".")[0] if run.symbols else ""


def _to_chunks(
    run: _LineRun, lines: Sequence[str], sizes: Sequence[int], symbols: Sequence[CodeSymbol]
) -> Iterator[CodeChunk]:
    name, kind = _name_run(run, symbols)
    pieces = [(run.first, run.last)]
    if sizes[run.last + 1] - sizes[run.first] > LONGEST:
        pieces = cut_lines(lines[run.first : run.last + 1], sizes[run.first : run.last + 2], LONGEST)
        pieces = [(run.first + first, run.first + last) for first, last in pieces]
    for first, last in pieces:
        text = "".join(lines[first : last + 1])
        if first < last or len(text) <= LONGEST_LINE:
            yield CodeChunk(text, name, kind, first + 1, last + 1)
            continue
        for start in range(0, len(text), LONGEST_LINE):
            yield CodeChunk(text[start : start + LONGEST_LINE], name, kind, first + 1, last + 1)


def _name_run(run: _LineRun, symbols: Sequence[CodeSymbol]) -> tuple[str, str]:
    """What a run is called, and its kind: that of its first symbol."""
    if not run.symbols:
        return "", ""
    first, *others = (symbols[number] for number in run.symbols[:NAMED])
    more = [symbol.name for symbol in others if symbol.qualified != first.qualified]
    cut = [*more, "…"] if len(run.symbols) > NAMED else more
    return ", ".join((first.qualified, *cut)), first.kind
