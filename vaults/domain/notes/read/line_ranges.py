r"""Lines of a note, numbered from 1. A line ends with ``\n``, ``\r\n`` or ``\r`` and with nothing else. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from vaults.search import tokenizer

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")

_TOKEN = 128
"""Max bytes of a token."""


def count_lines(text: str) -> int:
    """How many lines a text has; a last line without a line ending counts."""
    ends = text.count("\n") + text.count("\r") - text.count("\r\n")
    return ends + (1 if text and text[-1] not in "\r\n" else 0)


def line_offsets(text: str, first: int, number: int | None) -> tuple[int, int]:
    """Start and end offset of ``number`` lines from line ``first`` on; None: to the end of the text."""
    stop = None if number is None else first - 1 + number
    chosen = islice(_LINE.finditer(text), first - 1, stop)
    start = end = len(text)
    for place, match in enumerate(chosen):
        if place == 0:
            start = match.start()
            if number is None:
                break
        end = match.end()
    return start, end


def line_start(text: str, line: int) -> int:
    """The offset of a line; the end of the text for one beyond it."""
    return line_offsets(text, line, None)[0]


@dataclass(frozen=True, slots=True)
class LinesPiece:
    """The first lines of a stretch of text."""

    text: str
    first_line: int
    cut: bool = False  # there is more
    next_line: int | None = None  # where it continues; None if only the rest of an overlong line is left
    warnings: Sequence[str] = ()


def take_lines(stretch: str, first_line: int, max_tokens: int, max_lines: int | None = None) -> LinesPiece:
    """As many lines of a stretch that begins at ``first_line`` as both limits allow."""
    chosen = stretch if max_lines is None else stretch[: line_offsets(stretch, 1, max_lines)[1]]
    taken = chosen[: count_within_tokens(chosen, max_tokens)]
    if len(taken) == len(stretch):
        return LinesPiece(taken, first_line)
    following = first_line + count_lines(taken)
    if taken[-1] in "\r\n":
        return LinesPiece(taken, first_line, True, following)
    rest = _LINE.match(stretch, len(taken))
    end = rest.end() if rest else len(stretch)
    warning = (
        f"line {following - 1} is longer than max_tokens and cut within: {end - len(taken)} characters of it are left"
        " out; a larger max_tokens, or fetch with max_bytes, gives more of it"
    )
    return LinesPiece(taken, first_line, True, following if end < len(stretch) else None, [warning])


def count_within_tokens(text: str, max_tokens: int) -> int:
    """How many characters fit into ``max_tokens``: whole lines, or part of a first line that is too long."""
    if tokenizer.surely_fits([text], max_tokens):
        return len(text)
    end, left = 0, max_tokens
    for line in _split_lines(text):
        if len(line) > left * _TOKEN or (used := tokenizer.count_tokens(line)) > left:
            return end or _fitting_part(line, max_tokens)
        left -= used
        end += len(line)
    return end


def count_within_bytes(text: str, max_bytes: int) -> int:
    """How many characters fit into ``max_bytes``, cut like ``count_within_tokens``."""
    data = text.encode()
    if len(data) <= max_bytes:
        return len(text)
    part = data[:max_bytes].decode("utf-8", "ignore")
    end = max(part.rfind("\n"), part.rfind("\r")) + 1
    return end or len(part)


def _split_lines(text: str) -> Iterator[str]:
    return (match[0] for match in _LINE.finditer(text))


def _fitting_part(line: str, max_tokens: int) -> int:
    part = line[: max_tokens * 8]
    while (used := tokenizer.count_tokens(part)) > max_tokens:
        part = part[: len(part) * max_tokens // used]
    return max(1, len(part))
