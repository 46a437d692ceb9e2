"""DOCX: headings, paragraphs, lists and tables in order; footnotes at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vaults.formats.office_package import (
    RELATION_ID,
    Relation,
    find_child,
    find_main_member,
    find_value,
    local_name,
    read_core_properties,
    read_relations,
)
from vaults.formats.packed_file import PackedFile
from vaults.formats.parsed_document import ParsedDocument, ParseLimits
from vaults.formats.part_limits import take_parts
from vaults.formats.section_builder import SectionBuilder
from vaults.formats.table_text import to_table

MIME = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

_HEADING = re.compile(r"heading\s*([1-9])\Z", re.IGNORECASE)
_LIST = re.compile(r"list (?:bullet|number)\s*([1-9])?\Z", re.IGNORECASE)
MAX_BASED = 10
"""How many styles one may be based on, one on another."""

MAX_HEADING = 500
"""Characters above which a paragraph is no heading, whatever its style."""

_NEVER_READ = frozenset({"del", "moveFrom", "Fallback", "instrText", "delText", "pPr", "rPr", "footnoteRef"})
_MARKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_CONTAINERS = frozenset({"sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag", "AlternateContent", "Choice"})


def parse(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse a DOCX. What is deleted in its tracked changes is not read, what is inserted is."""
    packed = PackedFile(data, limits)
    main = find_main_member(packed)
    relations = read_relations(packed, main)
    related = {each.kind: each.target for each in relations.values() if not each.external}
    reader = _BodyReader(_read_styles(packed, related.get("styles")), relations)
    body = find_child(packed.read_xml(main), "body")
    reader.read(body if body is not None else ())
    for kind in ("footnotes", "endnotes"):
        if kind in related:
            reader.read_notes(kind, packed.find_xml(related[kind]))
    about = read_core_properties(packed)
    warnings: list[str] = []
    parts = take_parts(reader.sections.build(), limits, warnings)
    if "comments" in related:
        warnings.append("comments were left out")
    return ParsedDocument(
        format="docx",
        mime=MIME,
        parts=parts,
        title=about.title or reader.title or reader.sections.title,
        author=about.author,
        created_at=about.created_at,
        modified_at=about.modified_at,
        warnings=tuple(warnings),
    )


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    """What a style makes of a paragraph. ``level``: a heading of that level, the title where it is 0; ``item``: an item
    of a list, so deep."""

    level: int | None = None
    item: int | None = None


PLAIN = ParagraphStyle()


def _read_styles(packed: PackedFile, member: str | None) -> dict[str, ParagraphStyle]:
    """The styles that make something of a paragraph, by their ids."""
    root = packed.find_xml(member) if member else None
    styles: dict[str, ParagraphStyle] = {}
    based: dict[str, str] = {}
    for style in root if root is not None else ():
        key = find_value(style, "styleId")
        if local_name(style) != "style" or key is None:
            continue
        styles[key] = _read_style(style)
        based[key] = _value_at(style, "basedOn") or ""
    return {key: _inherit(key, styles, based) for key in styles}


def _inherit(key: str, styles: dict[str, ParagraphStyle], based: dict[str, str]) -> ParagraphStyle:
    """A style that says nothing is as the one it is based on."""
    for _ in range(MAX_BASED):
        if styles.get(key, PLAIN) != PLAIN or key not in based:
            break
        key = based[key]
    return styles.get(key, PLAIN)


def _read_style(style: Any) -> ParagraphStyle:
    name = _value_at(style, "name") or ""
    if name.lower() == "title":
        return ParagraphStyle(level=0)
    heading, item = _HEADING.match(name), _LIST.match(name)
    depth = int(item[1] or 1) - 1 if item else _item_depth(style)
    return ParagraphStyle(int(heading[1]) if heading else _outline_level(style), depth)


def _value_at(element: Any, *path: str) -> str | None:
    found = find_child(element, *path)
    return find_value(found, "val") if found is not None else None


def _item_depth(element: Any) -> int | None:
    """How deep an item of a list a paragraph is by its properties."""
    if find_child(element, "pPr", "numPr") is None or _value_at(element, "pPr", "numPr", "numId") == "0":
        return None
    depth = _value_at(element, "pPr", "numPr", "ilvl")
    return min(int(depth), 8) if depth and depth.isdigit() else 0


def _outline_level(element: Any) -> int | None:
    """The level by the properties of a paragraph; 9 of them says that it is none."""
    value = _value_at(element, "pPr", "outlineLvl")
    return int(value) + 1 if value and value.isdigit() and int(value) < 9 else None


class _BodyReader:
    """Reads paragraphs and tables, whatever they are wrapped in."""

    def __init__(self, styles: dict[str, ParagraphStyle], relations: dict[str, Relation]) -> None:
        self._styles = styles
        self._relations = relations
        self.sections = SectionBuilder()
        self.title: str | None = None

    def read(self, elements: Any) -> None:
        """Add what these elements hold."""
        for each in _unwrap(elements):
            if local_name(each) == "tbl":
                self.sections.add_block(to_table(self._read_rows(each)))
            else:
                self._read_paragraph(each)

    def read_notes(self, kind: str, root: Any) -> None:
        """Add footnotes or endnotes, under a heading of their own."""
        notes = [self._text_of(each) for each in (root if root is not None else ()) if not find_value(each, "type")]
        if any(note.strip() for note in notes):
            self.sections.end_headings()
            self.sections.add_heading(1, kind.capitalize())
            for note in notes:
                self.sections.add_block(note.strip())

    def _read_paragraph(self, paragraph: Any) -> None:
        text = self._text_of(paragraph).strip()
        style = self._styles.get(_value_at(paragraph, "pPr", "pStyle") or "", PLAIN)
        own, item = _outline_level(paragraph), _item_depth(paragraph)
        level = style.level if own is None else own
        if level is None or len(text) > MAX_HEADING:
            depth = style.item if item is None else item
            self.sections.add_block(text if depth is None or not text else f"{'  ' * depth}- {text}")
        elif level:
            self.sections.add_heading(level, text)
        else:
            self.title = self.title or text or None
            self.sections.add_block(text)

    def _read_rows(self, table: Any) -> Iterator[list[str]]:
        for row in _unwrap(table, "tr"):
            yield [" ".join(map(self._text_of, _list_paragraphs(cell))) for cell in _unwrap(row, "tc")]

    def _text_of(self, element: Any) -> str:
        """The text in an element, links as text (address)."""
        from lxml import etree

        texts: list[str] = []
        walk = etree.iterwalk(element, events=("start", "end"))
        for event, each in walk:
            name = local_name(each)
            if event == "end":
                texts.append(self._after(each, name))
            elif name in _NEVER_READ:
                walk.skip_subtree()
            elif name == "t":
                texts.append(each.text or "")
            else:
                texts.append(_MARKS.get(name, ""))
        return "".join(texts)

    def _after(self, element: Any, name: str) -> str:
        if name == "p":
            return "\n"
        if name == "hyperlink":
            relation = self._relations.get(element.get(RELATION_ID) or "")
            if relation is not None and relation.external and len(relation.target) <= 500:
                return f" ({relation.target})"
        return ""


def _list_paragraphs(cell: Any) -> Iterator[Any]:
    """All paragraphs of a cell, but for those within another, as text boxes are, which is read with it."""
    from lxml import etree

    walk = etree.iterwalk(cell, events=("start",))
    for _, each in walk:
        if local_name(each) == "p":
            yield each
            walk.skip_subtree()


def _unwrap(elements: Any, *names: str) -> Iterator[Any]:
    """The elements of these names (paragraphs and tables), also those in content controls and insertions."""
    wanted = names or ("p", "tbl")
    waiting = [iter(elements)]
    while waiting:
        each = next(waiting[-1], None)
        if each is None:
            waiting.pop()
        elif local_name(each) in wanted:
            yield each
        elif local_name(each) in _CONTAINERS:
            waiting.append(iter(each))
