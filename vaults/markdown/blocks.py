r"""Fences, headings, comments and HTML that stand on lines of their own, as CommonMark reads them.

One regular expression stops at the lines that may begin one; the rest of the text is skipped in C. The text comes with
a ``\n`` in front and one behind, and all its line endings are ``\n``; a line is identified by the position of the
``\n`` before it, which is its offset in the note.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from vaults.markdown.containers import Containers
from vaults.markdown.html_blocks import match_html_block
from vaults.markdown.lines import ChunkedSearch, iter_matches

_CANDIDATE = re.compile(
    r"\n(?=[ \t>\-+*0-9`~<%#=])"
    r"([ \t]*+(?:(?:>|(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t]++[^ \t\n]))[ \t]*+){0,999}+)"
    r"(?:(`{3,}+(?=[^`\n]*+\n)|~{3,}+)|(\#{1,6}+)(?=[ \t\n])|((?:=++|-++)[ \t]*+)(?=\n)|(<)(?=[a-zA-Z/!?])|(%%))"
)
_CLOSING = re.compile(r"\n {0,3}(`{3,}+|~{3,}+)[ \t]*+(?=\n)")
_DEFINITION = re.compile(r" {0,3}\[[^\]\n]++\]:[ \t]*+\S++[ \t]*+$")


@dataclass(slots=True)
class BlockSpans:
    r"""Spans of the text. ``headings``: level, the ``\\n`` before the first line, the one after the last."""

    fences: list[tuple[int, int]] = field(default_factory=list)
    comments: list[tuple[int, int]] = field(default_factory=list)
    headings: list[tuple[int, int, int]] = field(default_factory=list)


def find_blocks(text: str, start: int) -> BlockSpans:
    """Find the blocks after the line ending at ``start``."""
    return _BlockReader(text, start).read()


class _BlockReader:
    """Reads candidates in order; each handler returns where to continue."""

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._start = start
        self._found = BlockSpans()
        self._open = Containers(text, start)
        self._handlers: dict[int, Callable[[re.Match[str]], int]] = {
            2: self._fence, 3: self._heading, 4: self._underline, 5: self._html, 6: self._percent,
        }  # fmt: skip
        self._percents = True

    def read(self) -> BlockSpans:
        search, handlers = ChunkedSearch(_CANDIDATE, self._text).search, self._handlers
        found = search(self._start)
        while found is not None:
            kind = found.lastindex
            assert kind is not None
            found = search(handlers[kind](found))
        return self._found

    def _line_end(self, position: int) -> int:
        return self._text.index("\n", position + 1)

    def _entered(self, found: re.Match[str]) -> bool:
        """Whether the line may begin a block of its own; its containers are open then."""
        if found.end(1) == found.start() + 1:
            self._open.clear(found.start())
            return True
        return self._open.enter(found.start(), found[found.lastindex or 0])

    def _fence(self, found: re.Match[str]) -> int:
        after = self._line_end(found.start())
        if not self._entered(found):
            return after
        mark = found[2]
        end = self._fence_end(after, mark) if not self._open.stack else self._end_within(after, _fence_closer(mark))
        self._found.fences.append((found.start() + 1, end))
        self._open.leave(end)
        return end

    def _fence_end(self, after: int, mark: str) -> int:
        for close in iter_matches(_CLOSING, self._text, after):
            if close[1].startswith(mark):
                return close.end()
        return len(self._text) - 1

    def _end_within(self, position: int, closes: Callable[[str], bool]) -> int:
        """The end of a block inside containers: where it closes, or where the first of them ends."""
        depth, last = len(self._open.stack), len(self._text) - 1
        while position < last:
            line = self._open.line(position)
            matched, at = self._open.match_open(line)
            if matched < depth:
                break
            position = self._line_end(position)
            if closes(line[at:]):
                break
        return position

    def _heading(self, found: re.Match[str]) -> int:
        end = self._line_end(found.start())
        if not _is_blank(found[1]):
            return end  # in a quote or a list item's first line: no section of the note
        if self._entered(found):
            if not self._open.stack:
                self._found.headings.append((len(found[3]), found.start(), end))
            self._open.leave(end)
        return end

    def _underline(self, found: re.Match[str]) -> int:
        text, position, end = self._text, found.start(), found.end()
        above = text.rfind("\n", 0, position)
        if above < self._start or text[above:position].isspace() or not _is_blank(found[1]):
            return end
        self._open.read_to(position)
        first = self._open.paragraph
        if first is None or self._open.stack or len(found[1].expandtabs(4)) > 3:
            return end
        while first < position and _DEFINITION.match(text, first + 1, self._line_end(first)):
            first = self._line_end(first)
        if first < position:
            self._found.headings.append((1 if found[4][0] == "=" else 2, first, end))
            self._open.clear(end)
        return end

    def _percent(self, found: re.Match[str]) -> int:
        """A comment that begins a line may continue across blank lines; one that never ends is no comment."""
        text, begin, line_end = self._text, found.start(6), self._line_end(found.start())
        close = text.find("%%", begin + 2) if self._percents else -1
        if close < 0:
            self._percents = False
        if close < line_end or not self._entered(found):
            return line_end
        self._found.comments.append((begin, close + 2))
        end = self._line_end(close)
        self._open.leave(end)
        return end

    def _html(self, found: re.Match[str]) -> int:
        text, begin, line_end = self._text, found.start(5), self._line_end(found.start())
        element = match_html_block(text, begin)
        if element is None or not (element.cuts or self._begins_block(found)) or not self._entered(found):
            return line_end
        end = line_end
        if not element.ends(text[begin:line_end]):
            end = self._end_within(line_end, element.ends)
        if text.startswith("<!--", begin):
            close = text.find("-->", begin, end)
            self._found.comments.append((begin, end if close < 0 else close + 3))
        elif element.code:
            self._found.fences.append((begin, end))
        self._open.leave(end)
        return end

    def _begins_block(self, found: re.Match[str]) -> bool:
        """Whether a lone tag begins a block: it may not interrupt a paragraph."""
        above = self._text.rfind("\n", 0, found.start())
        if above < self._start or self._text[above : found.start()].isspace():
            return True
        return not self._open.continues_paragraph(found.start(), "<")


def _is_blank(prefix: str) -> bool:
    return not prefix or prefix.isspace()


def _fence_closer(mark: str) -> Callable[[str], bool]:
    def closes(content: str) -> bool:
        found = _CLOSING.match(f"\n{content}\n")
        return found is not None and found[1].startswith(mark)

    return closes
