"""Cutting lines of code where nothing is known of their grammar: at blank lines, before definitions, before imports.

Pure, and linear in the number of lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

DOUBLE_BLANK, DEFINITION, IMPORT, BLANK, LINE = 90.0, 80.0, 60.0, 40.0, 1.0
"""How good a place for a cut is: before a line that stands after two empty ones, that defines something, imports
something, stands after an empty one, or is any other."""

DECAY = 0.7
"""A place half a piece before the limit counts that much less."""

_ATOM = re.compile(r"[A-Za-z]{1,6}|[0-9]{1,2}|\S")

_DEFINES = re.compile(
    r"(?:export\s+|public\s+|private\s+|protected\s+|static\s+|abstract\s+|final\s+|async\s+|pub(?:\([a-z]+\))?\s+)*"
    r"(?:def|class|function|func|fn|interface|struct|enum|trait|impl|module|namespace|sub|proc|type|record|object)\b"
)
_IMPORTS = re.compile(r"(?:import|export|from|use|using|require|include|#include|package)\b")


def count_tokens(text: str) -> int:
    """About how many tokens a line has, counted as passages are measured."""
    return len(_ATOM.findall(text))


def cut_lines(lines: Sequence[str], sizes: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Runs of lines, first and last counted in, of at most ``most`` tokens each; a longer line is a run of its own.
    Together they hold every line, in order. ``sizes``: tokens before each line, and before the end."""
    runs: list[tuple[int, int]] = []
    start = 0
    while start < len(lines):
        stop = _find_stop(lines, sizes, start, most)
        runs.append((start, stop - 1))
        start = stop
    return runs


def _find_stop(lines: Sequence[str], sizes: Sequence[int], start: int, most: int) -> int:
    """The line before which the run that begins with ``start`` ends."""
    edge, window = sizes[start] + most, most / 2
    stop = max(start + 1, bisect_right(sizes, edge, start) - 1)
    if stop >= len(lines):
        return len(lines)
    best, best_score = stop, 0.0
    for line in range(stop, start, -1):
        distance = edge - sizes[line]
        if distance > window:
            break
        score = _score(lines, line) * (1 - DECAY * (distance / window) ** 2)
        if score > best_score:
            best, best_score = line, score
    return best


def _score(lines: Sequence[str], line: int) -> float:
    """How good a cut before a line is."""
    text = lines[line].lstrip()
    if not text:
        return LINE  # the empty line stays with what stands before it
    blank = line > 0 and not lines[line - 1].strip()
    if blank and line > 1 and not lines[line - 2].strip():
        return DOUBLE_BLANK
    if _DEFINES.match(text):
        return DEFINITION
    if _IMPORTS.match(text):
        return IMPORT
    return BLANK if blank else LINE
