"""Code between backticks and comments within lines."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right

from vaults.markdown.lines import ChunkedSearch

TextSpans = list[tuple[int, int]]

_RUN = re.compile(r"``*+")
# The usual case first, single backticks on one line with none between them: it needs no further search.
# Patterns begin with what they look for, so that the search for it runs in C.
_CODE = r"(?<=[^\\]`)([^`\n]++`(?!`))|(?<=`)(`*+)"
_CODE_EVENT = re.compile(rf"`(?:{_CODE})")
_EVENT = re.compile(rf"[`<%](?:{_CODE}|(?<=<)(!--)|(?<=%)(%))")
# Where a paragraph surely ends: nothing that begins inside it continues beyond.
PARAGRAPH_END = r"\n(?=[ \t>]*+(?:\n|#{1,6}[ \t]|(?:[-+*]|[0-9]{1,9}[.)])[ \t]|\0))"
_PARAGRAPH_END = re.compile(PARAGRAPH_END)


def find_code_and_comments(text: str, blocks: TextSpans, edges: list[int]) -> tuple[TextSpans, TextSpans]:
    """Code and comments, each in order, of a text whose fences are blanked out.

    ``blocks``: the comments already known; ``edges``: ends of headings, which nothing crosses, in order.
    """
    if "<!--" in text or "%%" in text:
        return _InlineReader(text, blocks, edges).read(_EVENT)
    return _InlineReader(text, blocks, edges).read(_CODE_EVENT) if "`" in text else ([], blocks)


class _InlineReader:
    """Goes from one backtick run or comment mark to the next. What begins first wins; nothing crosses an edge."""

    def __init__(self, text: str, blocks: TextSpans, edges: list[int]) -> None:
        self._text = text
        self._blocks = blocks
        self._starts = [start for start, _ in blocks]
        self._edges = sorted([*edges, *self._starts, len(text)])
        self._break = -1
        self._runs: dict[int, list[int]] = {}  # by length, those up to `_listed`
        self._listed = -1
        self._code: TextSpans = []
        self._comments: TextSpans = []
        self._marks = {"-->": -1, "%%": -1}

    def read(self, event: re.Pattern[str]) -> tuple[TextSpans, TextSpans]:
        search, edge = ChunkedSearch(event, self._text).search, 0
        found = search(0)
        while found is not None:
            start, end = found.span()
            if self._starts:
                edge = max(edge, self._block_end(start))
            kind = found.lastindex
            if kind == 1 and not start < edge < end:
                self._code.append((start, end))
            elif kind in (1, 2):
                run = end if kind == 2 else start + 1
                end = self._span(start, run, edge) or run
            elif start >= edge:
                edge = self._comment(start, end) or edge
            found = search(end)
        return self._code, sorted([*self._blocks, *self._comments])

    def _block_end(self, at: int) -> int:
        known = bisect_right(self._starts, at) - 1
        return self._blocks[known][1] if known >= 0 else 0

    def _limit(self, at: int, comment_end: int) -> int:
        """Where a span that begins at ``at`` must have ended."""
        if at < comment_end:
            return min(comment_end, self._paragraph_end(at))
        return min(self._edges[bisect_left(self._edges, at)], self._paragraph_end(at))

    def _paragraph_end(self, at: int) -> int:
        if self._break < at:
            found = ChunkedSearch(_PARAGRAPH_END, self._text).search(at)
            self._break = found.start() if found else len(self._text)
        return self._break

    def _span(self, start: int, end: int, comment_end: int) -> int | None:
        """Code from the run at ``start`` to the next of equal length; a backslash before it escapes one backtick."""
        before = self._text[max(0, start - 8) : start]
        escaped = (len(before) - len(before.rstrip("\\"))) % 2
        limit = self._limit(start, comment_end)
        if limit != self._listed:
            self._listed, self._runs = limit, {}
            for found in _RUN.finditer(self._text, start, limit):
                self._runs.setdefault(found.end() - found.start(), []).append(found.start())
        runs = self._runs.get(end - start - escaped, [])
        at = bisect_left(runs, end)
        if at == len(runs):
            return None
        close = runs[at] + end - start - escaped
        self._code.append((start + escaped, close))
        return close

    def _comment(self, start: int, end: int) -> int | None:
        mark = "-->" if self._text[start] == "<" else "%%"
        close = self._marks[mark]
        if close < end:
            close = self._text.find(mark, end)
            close = self._marks[mark] = len(self._text) if close < 0 else close
        if close >= self._limit(start, 0):
            return None
        self._comments.append((start, close + len(mark)))
        return close + len(mark)
