"""HTML that begins a line: what it is and where it ends, by CommonMark's seven kinds of HTML block."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_RAW = re.compile(r"<(?:script|pre|style|textarea)(?=[\s>])", re.I)
_RAW_END = re.compile(r"</(?:script|pre|style|textarea)>", re.I)
_DECLARATION = re.compile(r"<![a-zA-Z]")
_STRUCTURE = re.compile(
    r"</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|"
    r"fieldset|figcaption|figure|footer|form|frame|frameset|h1|h2|h3|h4|h5|h6|head|header|hr|html|iframe|legend|li|link|main|"
    r"menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|"
    r"track|ul)(?=[\s>]|/>)",
    re.I,
)
_LONE_TAG = re.compile(
    r"(?:<[a-z][a-z0-9-]*+(?:[ \t]++[a-z_:][\w.:-]*+"
    r"(?:[ \t]*+=[ \t]*+(?:[^ \t\n\"'=<>`]++|'[^'\n]*+'|\"[^\"\n]*+\"))?+)*+"
    r"[ \t]*+/?>|</[a-z][a-z0-9-]*+[ \t]*+>)[ \t]*+(?=\n)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Element:
    """``ends``: whether a line of it, without what it lies in, is the last. ``cuts``: may follow a paragraph's line at
    once. ``code``: what is in it is no Markdown at all.
    """

    ends: Callable[[str], bool]
    cuts: bool = True
    code: bool = False


def _until(mark: str) -> Element:
    return Element(lambda line: mark in line)


_COMMENT, _INSTRUCTION, _CDATA, _DECLARED = _until("-->"), _until("?>"), _until("]]>"), _until(">")
_CODE = Element(lambda line: _RAW_END.search(line) is not None, code=True)
_TO_BLANK = Element(lambda line: not line.strip())
_LONE = Element(lambda line: not line.strip(), cuts=False)


def element_at(text: str, at: int) -> Element | None:
    """What begins at the ``<`` at ``at``, which is the first of its line; None where it is a paragraph's text."""
    following = text[at + 1]
    if following == "?":
        return _INSTRUCTION
    if following == "!":
        return _declared(text, at)
    if _RAW.match(text, at):
        return _CODE
    if _STRUCTURE.match(text, at):
        return _TO_BLANK
    return _LONE if _LONE_TAG.match(text, at) else None


def _declared(text: str, at: int) -> Element | None:
    if text.startswith("<!--", at):
        return _COMMENT
    if text.startswith("<![CDATA[", at):
        return _CDATA
    return _DECLARED if _DECLARATION.match(text, at) else None
