"""Markdown's own links: ``[text](target)``, ``![text](target)`` and ``[label]: target``."""

from __future__ import annotations

import re

from vaults.markdown.code_spans import PARAGRAPH_END
from vaults.markdown.lines import LineCounter, iter_matches
from vaults.markdown.link import Link, unescape_target
from vaults.markdown.scan import Scan

TextSpan = tuple[int, int]

MAX_ALIAS = 1000
"""Characters kept of a link's text. Images nest, and each would hold the text of all inside it."""

_BRACKET = re.compile(rf"\\.|!\[|\[|\]|{PARAGRAPH_END}")
_TITLE = r"\"(?:[^\"\\\n]++|\\.|\n(?![ \t]*+\n))*+\"|'(?:[^'\\\n]++|\\.|\n(?![ \t]*+\n))*+'|\((?:[^()\\\n]++|\\.)*+\)"
_SPACE = r"[ \t]*+\n?+[ \t]*+"
_DESTINATION = re.compile(
    rf"\]\({_SPACE}(?:<([^<>\n]*+)>|((?!<)(?:[^\s()\\\0]++|\\.|\((?:[^\s()\\\0]++|\\.)*+\))*+))"
    rf"(?:(?<=[ \t\n])(?:{_TITLE})|[ \t\n]{_SPACE}(?:{_TITLE}))?+{_SPACE}\)"
)
_DEFINITION = re.compile(
    rf"\n {{0,3}}\[((?!\^)(?:[^\[\]\\\n\0]++|\\.)++)\]:{_SPACE}(?:<([^<>\n]*+)>|([^\s<\0][^\s\0]*+))"
    rf"(?:[ \t]++(?:{_TITLE}))?+[ \t]*+(?=\n)"
)
_EXTERNAL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|//")


def find_inline_links(scan: Scan, text: str) -> list[Link]:
    """Links in brackets and parentheses to notes and files."""
    return _to_links(_pair_brackets(scan), scan, text)


def find_inline_link_spans(scan: Scan) -> list[TextSpan]:
    """The spans of all inline links, external ones included. Offsets are in ``scan.linked``."""
    return [whole for whole, _, _ in _pair_brackets(scan)]


def _pair_brackets(scan: Scan) -> list[tuple[TextSpan, TextSpan, TextSpan]]:
    """Each whole link, its target and its text. Brackets are paired only up to a ``](`` in a paragraph: linear."""
    linked = scan.linked
    found: list[tuple[TextSpan, TextSpan, TextSpan]] = []
    pairs = _BracketPairs(linked)
    at = linked.find("](")
    while at >= 0:
        opener = pairs.opener(at)
        match = _DESTINATION.match(linked, at) if opener is not None else None
        after = at + 2
        if opener is not None and match is not None:
            after = match.end()
            pairs.close(after, image=linked[opener] == "!")
            label = opener + (2 if linked[opener] == "!" else 1)
            if not (linked[label] == "[" and linked[at - 1] == "]"):  # `[[wiki]](text)` is a wiki link
                found.append(((opener, after), match.span(1 if match[2] is None else 2), (label, at)))
        at = linked.find("](", after)
    return sorted(found)


def find_definitions(scan: Scan, text: str) -> list[Link]:
    """``[label]: target`` on a line of its own that does not follow a paragraph's line. Footnotes do not count."""
    lines, found, last = scan.lines, [], -1
    for match in iter_matches(_DEFINITION, scan.linked, scan.body_start):
        start = match.start()
        above = lines.rfind("\n", 0, start)
        if start in (0, scan.body_start, last) or lines[above:start].isspace():
            found.append(((start + 1, match.end()), match.span(2 if match[3] is None else 3), match.span(1)))
            last = match.end()
    return _to_links(found, scan, text)


class _BracketPairs:
    """Pairs brackets, reading on from one ``](`` to the next. Links hold no links, except images."""

    def __init__(self, linked: str) -> None:
        self._linked = linked
        self._at = 0
        self._open: list[int] = []
        self._dead = 0  # openers below this depth enclose a link, so only images among them count

    def opener(self, at: int) -> int | None:
        """The bracket (or its ``!``) that the ``]`` at ``at`` closes, if a link may start there."""
        opener = None
        paragraph = self._linked.rfind("\n\n", self._at, at)
        if paragraph >= 0:
            self._at, self._open = paragraph, []
        for token in _BRACKET.finditer(self._linked, self._at, at + 1):
            opener = self._read(token)
        self._at = at + 1
        return opener

    def close(self, after: int, *, image: bool) -> None:
        """Record that a link ended at ``after``."""
        self._at = after
        if not image:
            self._dead = len(self._open)

    def _read(self, token: re.Match[str]) -> int | None:
        mark = token[0]
        if mark in ("[", "!["):
            self._open.append(token.start())
        elif mark == "]" and self._open:
            opener = self._open.pop()
            dead = len(self._open) < self._dead
            self._dead = min(self._dead, len(self._open))
            return None if dead and self._linked[opener] != "!" else opener
        elif mark == "\n":
            self._open, self._dead = [], 0
        return None


def _to_links(found: list[tuple[TextSpan, TextSpan, TextSpan]], scan: Scan, text: str) -> list[Link]:
    links: list[Link] = []
    counter = LineCounter(scan.lines)
    for (start, end), (first, last), label in found:
        written = scan.lines[first:last]
        if not written or _EXTERNAL.match(written):
            continue
        target, _, anchor = written.partition("#")
        anchor = unescape_target(anchor)
        block = anchor[1:] if anchor.startswith("^") else ""
        alias = text[label[0] - 1 : min(label[1], label[0] + MAX_ALIAS) - 1].strip()
        links.append(
            Link(
                "markdown", target, line=counter.line(start - 1), start=start - 1, end=end - 1, target_start=first - 1,
                target_end=first - 1 + len(target), heading="" if block else anchor, block=block, alias=alias,
                embed=scan.lines[start] == "!",
            )
        )  # fmt: skip
    return links
