"""DOCX: headings, paragraphs, lists and tables in order; footnotes at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
_NEVER_READ = frozenset({"del", "moveFrom", "Fallback", "instrText", "delText", "pPr", "rPr", "footnoteRef"})
_MARKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_CONTAINERS = frozenset({"sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag", "AlternateContent", "Choice"})


def parse(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse a DOCX. What is deleted in its tracked changes is not read, what is inserted is."""
    packed = PackedFile(data, limits)
    main = find_main_member(packed)
    relations = read_relations(packed, main)
    related = {each.kind: each.target for each in relations.values() if not each.external}
    reader = _BodyReader(_read_levels(packed, related.get("styles")), relations)
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


def _read_levels(packed: PackedFile, member: str | None) -> dict[str, int]:
    """The level of each style that makes a heading, by its id; 0 for the title's."""
    root = packed.find_xml(member) if member else None
    levels: dict[str, int] = {}
    based: dict[str, str] = {}
    for style in root if root is not None else ():
        key = find_value(style, "styleId")
        if local_name(style) != "style" or key is None:
            continue
        level = _level_of_style(style)
        if level is not None:
            levels[key] = level
        parent = find_child(style, "basedOn")
        if parent is not None:
            based[key] = find_value(parent, "val") or ""
    for key, parent_key in based.items():
        if key not in levels and parent_key in levels:
            levels[key] = levels[parent_key]
    return levels


def _level_of_style(style: Any) -> int | None:
    named = find_child(style, "name")
    name = (find_value(named, "val") or "") if named is not None else ""
    if name.lower() == "title":
        return 0
    found = _HEADING.match(name)
    return int(found[1]) if found else _outline_level(style)


def _outline_level(element: Any) -> int | None:
    """The level by the properties of a paragraph; 9 of them says that it is none."""
    level = find_child(element, "pPr", "outlineLvl")
    value = find_value(level, "val") if level is not None else None
    return int(value) + 1 if value and value.isdigit() and int(value) < 9 else None


class _BodyReader:
    """Reads paragraphs and tables, whatever they are wrapped in."""

    def __init__(self, levels: dict[str, int], relations: dict[str, Relation]) -> None:
        self._levels = levels
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
        level = self._level_of(paragraph)
        if level is None or len(text) > 500:
            self.sections.add_block(f"{_list_prefix(paragraph)}{text}" if text else "")
        elif level:
            self.sections.add_heading(level, text)
        else:
            self.title = self.title or text or None
            self.sections.add_block(text)

    def _level_of(self, paragraph: Any) -> int | None:
        own = _outline_level(paragraph)
        style = find_child(paragraph, "pPr", "pStyle")
        named = self._levels.get(find_value(style, "val") or "") if style is not None else None
        return own if own is not None else named

    def _read_rows(self, table: Any) -> Iterator[list[str]]:
        for row in _unwrap(table, "tr"):
            yield [
                " ".join(self._text_of(each) for each in cell.iter() if local_name(each) == "p")
                for cell in _unwrap(row, "tc")
            ]

    def _text_of(self, element: Any) -> str:
        """The text in an element, links as text (address)."""
        from lxml import etree

        texts: list[str] = []
        walk = etree.iterwalk(element, events=("start", "end"))
        for event, each in walk:
            name = local_name(each)
            if event == "end":
                texts.append(self._after(each, name))
            elif name in _NEVER_READ or (name == "p" and each is not element and _is_nested(each, element)):
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


def _is_nested(paragraph: Any, outer: Any) -> bool:
    """Whether a paragraph within a cell belongs to it through another paragraph, which reads it itself."""
    return local_name(outer) == "tc" and any(
        local_name(above) == "p" for above in paragraph.iterancestors() if above is not outer
    )


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


def _list_prefix(paragraph: Any) -> str:
    numbering = find_child(paragraph, "pPr", "numPr")
    if numbering is None:
        return ""
    level = find_child(numbering, "ilvl")
    value = find_value(level, "val") if level is not None else None
    return f"{'  ' * min(int(value), 8) if value and value.isdigit() else ''}- "
