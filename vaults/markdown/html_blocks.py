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
class HtmlBlock:
    """A kind of HTML block. ``ends``: whether a line, without its containers' marks, is the last one. ``cuts``: may
    interrupt a paragraph. ``code``: its content is not Markdown.
    """

    ends: Callable[[str], bool]
    cuts: bool = True
    code: bool = False


def _ends_with(mark: str) -> HtmlBlock:
    return HtmlBlock(lambda line: mark in line)


_COMMENT, _INSTRUCTION, _CDATA, _DECLARED = _ends_with("-->"), _ends_with("?>"), _ends_with("]]>"), _ends_with(">")
_CODE = HtmlBlock(lambda line: _RAW_END.search(line) is not None, code=True)
_TO_BLANK = HtmlBlock(lambda line: not line.strip())
_LONE = HtmlBlock(lambda line: not line.strip(), cuts=False)


def match_html_block(text: str, at: int) -> HtmlBlock | None:
    """The block that begins with the ``<`` at ``at``, the first of its line; None if it is a paragraph's text."""
    following = text[at + 1]
    if following == "?":
        return _INSTRUCTION
    if following == "!":
        return _match_declaration(text, at)
    if _RAW.match(text, at):
        return _CODE
    if _STRUCTURE.match(text, at):
        return _TO_BLANK
    return _LONE if _LONE_TAG.match(text, at) else None


def _match_declaration(text: str, at: int) -> HtmlBlock | None:
    if text.startswith("<!--", at):
        return _COMMENT
    if text.startswith("<![CDATA[", at):
        return _CDATA
    return _DECLARED if _DECLARATION.match(text, at) else None
