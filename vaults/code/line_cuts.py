"""Cutting lines of code where nothing is known of their grammar: at blank lines, before definitions, before imports.

Pure, and linear in the number of lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

DOUBLE_BLANK, DEFINITION, IMPORT, BLANK, LINE = 90.0, 80.0, 60.0, 40.0, 1.0
"""How good a place for a cut is: before a line that stands after two empty ones, that defines something, imports
something, stands after an empty one, or is any other."""

DECAY = 0.7
"""A place half a piece before the limit counts that much less."""

_DEFINES = re.compile(
    r"(?:export\s+|public\s+|private\s+|protected\s+|static\s+|abstract\s+|final\s+|async\s+|pub(?:\([a-z]+\))?\s+)*"
    r"(?:def|class|function|func|fn|interface|struct|enum|trait|impl|module|namespace|sub|proc|type|record|object)\b"
)
_IMPORTS = re.compile(r"(?:import|export|from|use|using|require|include|#include|package)\b")


def cut_lines(lines: Sequence[str], first: int, last: int, most: int) -> list[tuple[int, int]]:
    """Runs of the lines from ``first`` to ``last``, both counted in, of at most ``most`` characters each; a longer
    line is a run of its own. Together they hold every line, in order."""
    runs: list[tuple[int, int]] = []
    sizes = list(accumulate((len(line) for line in lines[first : last + 1]), initial=0))
    start = 0
    while start <= last - first:
        stop = _find_stop(lines, sizes, first, start, most)
        runs.append((first + start, first + stop - 1))
        start = stop
    return runs


def _find_stop(lines: Sequence[str], sizes: Sequence[int], first: int, start: int, most: int) -> int:
    """The line, counted from ``first``, before which the run that begins with ``start`` ends."""
    total = len(sizes) - 1
    edge, window = sizes[start] + most, most / 2
    stop = start + 1
    while stop < total and sizes[stop + 1] <= edge:
        stop += 1
    if stop == total:
        return total
    best, best_score = stop, 0.0
    for line in range(stop, start, -1):
        distance = edge - sizes[line]
        if distance > window:
            break
        score = _score(lines, first + line) * (1 - DECAY * (distance / window) ** 2)
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
