r"""Which quotes and list items a line lies in.

Most lines need no answer: a heading or fence that starts in the first column is in no container. So ``blocks`` asks
only about lines that may be in one, and :class:`Containers` reads forward to them from the last place where nothing
was open. Every line is read at most once: linear.

Positions are those of the ``\n`` before a line, in a text with one ``\n`` added in front and one behind.
"""

from __future__ import annotations

import re

MAX_DEPTH = 100
"""Nesting of containers; deeper ones are text. Without a bound, each blank line below a deep list costs its depth."""

QUOTE = 0
"""In a stack: a quote. Any other number is a list item, by the columns its content is indented by."""

_MARKER = re.compile(r"([-+*]|([0-9]{1,9})[.)])(?= |$)")
_RULE = re.compile(r"(?:(?:- *+){3,}+|(?:\* *+){3,}+|(?:_ *+){3,}+)$")
_UNDERLINE = re.compile(r"(?:-++|=++) *+$")
_ATX = re.compile(r"#{1,6}(?: |$)")
# After a blank line, a line that is neither indented nor opens a container closes all of them.
_CLEAR = re.compile(r"\n[ \t]*+\n(?![ \t\n>\-+*0-9])")


class Containers:
    """Reads lines and tracks what is open: ``stack`` (outermost first), and the start of a ``paragraph``."""

    __slots__ = ("_bare", "_text", "paragraph", "position", "stack")

    def __init__(self, text: str, position: int) -> None:
        self._text = text
        self.clear(position)

    def clear(self, position: int) -> None:
        """Start over: nothing is open at the line that starts at ``position``."""
        self.stack: list[int] = []
        self.paragraph: int | None = None
        self.position = position
        self._bare = 0  # depth of an item that the last line opened without content; 0: none

    def leave(self, position: int) -> None:
        """A fence or the like ended before ``position``: its containers stay open."""
        self.paragraph = None
        self.position = position

    def read_to(self, position: int) -> None:
        """Read the lines before the one at ``position``."""
        start = self.position
        for found in _CLEAR.finditer(self._text, start, position + 2):
            start = found.end() - 1
        if start > self.position:
            self.clear(start)
        while self.position < position:
            end = self._text.index("\n", self.position + 1)
            self._read(self.line(self.position), self.position)
            self.position = end

    def line(self, position: int) -> str:
        """The line, its tabs expanded."""
        return self._text[position + 1 : self._text.index("\n", position + 1)].expandtabs(4).rstrip(" ")

    def enter(self, position: int, mark: str) -> bool:
        """Read the line at ``position``; whether ``mark`` in it begins a block that may interrupt a paragraph.

        It does not if its indent makes it code, or if the text before it opens no container.
        """
        self.read_to(position)
        line = self.line(position)
        matched, at = self.match_open(line)
        at, opened = self._open_new(line, at, matched)
        indent = _indent_width(line, at)
        if indent > 3 or not line.startswith(mark, at + indent):
            self._leaf(opened=opened, matched=matched, paragraph=None if indent > 3 else position)
            self.position = self._text.index("\n", position + 1)
            return False
        if not opened:
            del self.stack[matched:]
        self.leave(position)
        return True

    def continues_paragraph(self, position: int, mark: str) -> bool:
        """Whether the line at ``position`` continues an open paragraph, if what begins with ``mark`` is its text."""
        self.read_to(position)
        if self.paragraph is None:
            return False
        line = self.line(position)
        _, at = self.match_open(line)
        return line.startswith(mark, at + _indent_width(line, at))

    def match_open(self, line: str) -> tuple[int, int]:
        """How many of the open containers the line continues, and where what follows them starts."""
        at = 0
        for count, width in enumerate(self.stack):
            indent = _indent_width(line, at)
            if width == QUOTE:
                if indent > 3 or line[at + indent : at + indent + 1] != ">":
                    return count, at
                at = _skip_quote_mark(line, at + indent)
            elif at + indent >= len(line):
                continue
            elif indent < width:
                return count, at
            else:
                at += width
        return len(self.stack), at

    def _open_new(self, line: str, at: int, matched: int) -> tuple[int, bool]:
        """Open the containers that begin on this line; the first closes those the line does not continue."""
        opened, paragraph = False, self.paragraph is not None and matched == len(self.stack)
        while len(self.stack) < MAX_DEPTH:
            indent = _indent_width(line, at)
            begin = at + indent
            if indent > 3 or begin >= len(line) or _RULE.match(line, begin):
                break
            if line[begin] == ">":
                width, at = QUOTE, _skip_quote_mark(line, begin)
            else:
                found = _MARKER.match(line, begin)
                if found is None or (paragraph and not _interrupts(found, line)):
                    break
                width = _content_column(line, found) - at
                at = min(at + width, len(line))
            if not opened:
                del self.stack[matched:]
            self.stack.append(width)
            opened, paragraph, self.paragraph = True, False, None
        return at, opened

    def _read(self, line: str, position: int) -> None:
        bare, self._bare = self._bare, 0
        matched, at = self.match_open(line)
        indent = _indent_width(line, at)
        if at + indent >= len(line):
            self._blank(matched, bare)
            return
        if (
            self.paragraph is not None
            and matched == len(self.stack)
            and indent < 4
            and _UNDERLINE.match(line, at + indent)
        ):
            self.paragraph = None
            return
        at, opened = self._open_new(line, at, matched)
        indent = _indent_width(line, at)
        if indent > 3:
            self._leaf(opened=opened, matched=matched, paragraph=None)
        elif at + indent >= len(line) or _ATX.match(line, at + indent) or _RULE.match(line, at + indent):
            self._end(opened=opened, matched=matched, bare=at + indent >= len(line))
        else:
            self._leaf(opened=opened, matched=matched, paragraph=position)

    def _blank(self, matched: int, bare: int) -> None:
        del self.stack[matched:]
        if bare and bare == len(self.stack):
            self.stack.pop()  # an item that begins with two blank lines is over
        self.paragraph = None

    def _end(self, *, opened: bool, matched: int, bare: bool) -> None:
        """A heading, a rule, or a container without content."""
        if not opened:
            del self.stack[matched:]
        elif bare and self.stack[-1] != QUOTE:
            self._bare = len(self.stack)
        self.paragraph = None

    def _leaf(self, *, opened: bool, matched: int, paragraph: int | None) -> None:
        """Text: it continues an open paragraph, even lazily, or begins ``paragraph``, or its indent makes it code."""
        if self.paragraph is not None:
            return
        if not opened:
            del self.stack[matched:]
        self.paragraph = paragraph


def _indent_width(line: str, at: int) -> int:
    rest = at
    end = len(line)
    while rest < end and line[rest] == " ":
        rest += 1
    return rest - at


def _skip_quote_mark(line: str, at: int) -> int:
    return at + 2 if line[at + 1 : at + 2] == " " else at + 1


def _content_column(line: str, found: re.Match[str]) -> int:
    """The column where an item's content starts: one blank after the marker if it is empty or starts with code."""
    blanks = _indent_width(line, found.end())
    return found.end() + (blanks if 1 <= blanks <= 4 and found.end() + blanks < len(line) else 1)


def _interrupts(found: re.Match[str], line: str) -> bool:
    return found.end() < len(line) and found[2] in (None, "1")
