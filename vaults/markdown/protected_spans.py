r"""Where in a note no link may be set: what is not prose, what is a link already, and what a bracket would turn into
something else.

Everything is found by regular expressions that stop at what they look for, so that all of it is linear. Protecting too
much costs a link; too little breaks a note: in doubt, text is protected.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from vaults.markdown.lines import ChunkedSearch, iter_matches
from vaults.markdown.links import find_links
from vaults.markdown.markdown_links import find_inline_link_spans
from vaults.markdown.scan import Scan, scan
from vaults.markdown.tags import TAG

TextSpan = tuple[int, int]

_PARAGRAPH = r"\n(?![ \t>]*+\n)"  # a line ending that no blank line follows
_LABEL = rf"[^\[\]\n]++|{_PARAGRAPH}"
_CONTAINERS = r"[ \t]*+(?:(?:>|[-+*]|[0-9]{1,9}[.)])[ \t]++|>)*+"

# Each with a string that the text must hold for the pattern to be worth trying.
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("#", re.compile(rf"\n{_CONTAINERS}#{{1,6}}+(?=[ \t])[^\n]*+")),  # headings, those in lists and quotes too
    ("#", TAG),
    ("]:", re.compile(r"\n[ \t>]*+\[[^\]\n]++\]:[^\n]*+")),  # link definitions and footnotes
    ("[", re.compile(rf"\[(?:{_LABEL}|\[(?:{_LABEL})*+\])*+\]")),  # labels, footnote marks, boxes
    ("<", re.compile(rf"\n[ \t>]*+<(?=[A-Za-z/!?])(?:[^\n]++|{_PARAGRAPH})*+")),  # HTML from a line's start
    ("<", re.compile(rf"<(?=[A-Za-z/!?%])(?:[^<>\n]|{_PARAGRAPH})*+>")),
    ("{", re.compile(r"[${]\{[^{}\n]*+\}\}?+")),  # templates
    ("$", re.compile(r"\$(?=[^\s$])[^$\n]*+\$")),  # formulas
    ("^", re.compile(r"(?<=\s)\^[A-Za-z0-9-]++[ \t]*+(?=\n)")),  # names of blocks
    ("@", re.compile(r"@[^\s,;)\]]*+")),
    ("www.", re.compile(r"www\.[^\s<>]*+", re.I)),
    ("mailto:", re.compile(r"mailto:[^\s<>]*+", re.I)),
)
# A bracket after one of these, or before one, would be read as something else: `![[`, `\[[`, `[[[`, `]](`.
_BRACKET_RISK = re.compile(r"[!\\\[](?=[^\s!\\\[])[^\n]|[^\s\]](?=[\[\](])")
_ADDRESS = re.compile(r"://[^\s<>\"]*+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*\Z")
_MAILBOX = re.compile(r"[^\s<>()\[\],;:]+\Z")
_ANCHOR = re.compile(r"<a(?=[\s>])[^<>]*+>", re.I)
_ANCHOR_END = re.compile(r"</a\s*+>", re.I)
_DISPLAY_FORMULA = re.compile(r"\$\$")
_FIELD = re.compile(r"(?:\n[ \t>]*+(?:[-+*][ \t]++)?+|\()\w[\w \t/-]{0,60}+::(?=[ \t\n])")
_INDENTED = re.compile(r"\n[ \t]*+(?=\n(?: {4}|\t))")
_TABLE = re.compile(r"\n[ \t>]*+\|?+(?=[^\n|]*+\|)[ \t]*+:?+-++:?+[ \t]*+(?:\|[ \t]*+(?::?+-++:?+[ \t]*+)?+)*+(?=\n)")
_EMPTY_LINE = re.compile(r"\n[ \t>]*+(?=\n)")
_BEFORE = 64
"""Characters searched backwards for the beginning of an address."""


def find_protected(text: str) -> list[TextSpan]:
    """Spans of ``text``, in order and without overlap, in which no link may be set: frontmatter, code, comments,
    headings, links of every kind, HTML, addresses, footnotes, formulas, templates, tags. Pure, linear, raises on no
    text."""
    return find_protected_in_scan(scan(text), text)


def find_protected_in_scan(scan: Scan, text: str) -> list[TextSpan]:
    """As ``find_protected``, for a text already scanned."""
    spans = [(each.start, each.end) for each in scan.stretches()]
    spans += [(start, end) for _, start, end in scan.headings]
    spans += [(each.start, each.end) for each in find_links(scan, text)]
    if "](" in scan.linked:
        spans += [(start - 1, end - 1) for start, end in find_inline_link_spans(scan)]
    seen = scan.visible
    for mark, pattern in _PATTERNS:
        if mark in seen:
            spans += [(match.start() - 1, match.end() - 1) for match in iter_matches(pattern, seen)]
    for each in (
        _find_addresses,
        _find_html_links,
        _find_formulas,
        _find_inline_fields,
        _find_indented_code,
        _find_bracket_risks,
    ):
        spans += [(start - 1, end - 1) for start, end in each(seen)]
    return merge_spans(spans, len(text))


def find_tables(scan: Scan) -> list[TextSpan]:
    r"""Spans of tables, in order: in them a ``|`` within a link is written ``\|``."""
    seen, spans, last = scan.visible, [], -1
    for match in iter_matches(_TABLE, seen) if "|" in seen else ():
        if match.start() > last:
            end = _EMPTY_LINE.search(seen, match.end())
            last = end.start() if end else len(seen)
            spans.append((seen.rfind("\n", 0, match.start()), last - 1))
    return merge_spans(spans, len(seen))


def merge_spans(spans: Iterable[TextSpan], length: int) -> list[TextSpan]:
    """Spans in order, cut to ``length``; those that touch or overlap are merged."""
    whole: list[TextSpan] = []
    for first, last in sorted(spans):
        start, end = max(first, 0), min(last, length)
        if whole and start <= whole[-1][1]:
            if end > whole[-1][1]:
                whole[-1] = whole[-1][0], end
        elif start < end:
            whole.append((start, end))
    return whole


def overlaps_any(spans: Sequence[TextSpan], start: int, end: int) -> bool:
    """Whether one of some merged spans shares a character with ``start`` … ``end``."""
    at = bisect_right(spans, (start, start)) - 1
    if at >= 0 and spans[at][1] > start:
        return True
    return at + 1 < len(spans) and spans[at + 1][0] < end


def _find_addresses(seen: str) -> Iterator[TextSpan]:
    if "://" in seen:
        for match in iter_matches(_ADDRESS, seen):
            yield match.start() - _run_length(_SCHEME, seen, match.start()), match.end()
    if "@" in seen:
        at = seen.find("@")
        while at >= 0:
            yield at - _run_length(_MAILBOX, seen, at), at + 1
            at = seen.find("@", at + 1)


def _run_length(pattern: re.Pattern[str], seen: str, end: int) -> int:
    """How many characters before ``end`` match ``pattern``."""
    match = pattern.search(seen[max(0, end - _BEFORE) : end])
    return match.end() - match.start() if match else 0


def _find_html_links(seen: str) -> Iterator[TextSpan]:
    """HTML links, their text included."""
    if "<" not in seen:
        return
    ends = [match.end() for match in iter_matches(_ANCHOR_END, seen)]
    for match in iter_matches(_ANCHOR, seen):
        at = bisect_right(ends, match.end())
        if at < len(ends):
            yield match.start(), ends[at]


def _find_formulas(seen: str) -> Iterator[TextSpan]:
    if "$$" in seen:
        marks = [match.start() for match in iter_matches(_DISPLAY_FORMULA, seen)]
        for start, end in zip(marks[::2], marks[1::2], strict=False):
            yield start, end + 2


def _find_inline_fields(seen: str) -> Iterator[TextSpan]:
    """Names of inline fields, ``name:: value``."""
    if "::" in seen:
        for match in iter_matches(_FIELD, seen):
            yield match.span()


def _find_bracket_risks(seen: str) -> Iterator[TextSpan]:
    for match in iter_matches(_BRACKET_RISK, seen):
        yield match.span()


_LINE = re.compile(r"\n(?:( {0,3}(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t]))|( {4}|\t)|([^\s]| {1,3}[^\s]))?[^\n]*+")


def _find_indented_code(seen: str) -> Iterator[TextSpan]:
    """Code by its indent alone: after a blank line, unless it could belong to an open list."""
    if ChunkedSearch(_INDENTED, seen).search(0) is None:
        return
    listing, blank, coding = False, True, False
    for match in iter_matches(_LINE, seen):
        if match.lastindex is None:
            blank = True
            continue
        if match.lastindex == 2:
            coding = not listing and (blank or coding)
            if coding:
                yield match.span()
        else:
            listing, coding = match.lastindex == 1 or (listing and not blank), False
        blank = False
