"""PPTX: a part per slide under its title, with tables and the speaker's notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vaults.formats.office_package import (
    RELATION_ID,
    find_child,
    find_main_member,
    local_name,
    read_core_properties,
    read_relations,
)
from vaults.formats.packed_file import PackedFile
from vaults.formats.parsed_document import ParsedDocument, ParsedPart, ParseLimits
from vaults.formats.part_cutting import cut_text
from vaults.formats.part_limits import take_parts
from vaults.formats.table_text import to_table

MIME = "application/vnd.openxmlformats-officedocument.presentationml.presentation"

_AROUND = frozenset({"dt", "ftr", "sldNum", "hdr", "sldImg"})
"""Placeholders for dates, footers and numbers."""


def parse(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse a PPTX, slides in the order they are shown in."""
    packed = PackedFile(data, limits)
    warnings: list[str] = []
    members = _list_slides(packed)
    if len(members) > limits.pages:
        warnings.append(f"only the first {limits.pages} of {len(members)} slides were read")
    parts = take_parts(_read_slides(packed, members[: limits.pages]), limits, warnings)
    about = read_core_properties(packed)
    return ParsedDocument(
        format="pptx",
        mime=MIME,
        parts=parts,
        title=about.title or next((part.heading for part in parts if part.heading), None),
        author=about.author,
        created_at=about.created_at,
        modified_at=about.modified_at,
        warnings=tuple(warnings),
        metadata={"slides": len(members)},
    )


def _list_slides(packed: PackedFile) -> list[str]:
    main = find_main_member(packed)
    relations = read_relations(packed, main)
    listed = find_child(packed.read_xml(main), "sldIdLst")
    ids = [each.get(RELATION_ID) for each in (listed if listed is not None else ())]
    return [relations[each].target for each in ids if each in relations]


def _read_slides(packed: PackedFile, members: list[str]) -> Iterator[ParsedPart]:
    for number, member in enumerate(members, 1):
        root = packed.find_xml(member)
        if root is None:
            continue
        title, blocks = _read_shapes(root)
        notes = [each.target for each in read_relations(packed, member).values() if each.kind == "notesSlide"]
        said = [_read_shapes(each)[1] for name in notes if (each := packed.find_xml(name)) is not None]
        blocks += ["Notes: " + "\n".join(texts) for texts in said if texts]
        for piece in cut_text("\n\n".join(blocks or ([title] if title else []))):
            yield ParsedPart(piece.text, heading=title, locator=f"slide {number}")


def _read_shapes(root: Any) -> tuple[str | None, list[str]]:
    """The title of a slide, and its other texts in order."""
    title: str | None = None
    blocks: list[str] = []
    for shape in root.iter():
        name = local_name(shape)
        if name == "tbl":
            blocks.append(to_table(_read_rows(shape)))
        elif name == "sp":
            kind, text = _placeholder_of(shape), _read_text(find_child(shape, "txBody"))
            if kind in ("title", "ctrTitle") and title is None and text:
                title = " ".join(text.split())
            elif kind not in _AROUND:
                blocks.append(text)
    return title, [block for block in blocks if block.strip()]


def _placeholder_of(shape: Any) -> str | None:
    placeholder = find_child(shape, "nvSpPr", "nvPr", "ph")
    return placeholder.get("type") if placeholder is not None else None


def _read_text(body: Any) -> str:
    """The paragraphs of a shape; deeper ones as items of a list."""
    lines = []
    for paragraph in body if body is not None else ():
        if local_name(paragraph) != "p":
            continue
        text = "".join(_text_of(each) for each in paragraph.iter()).strip()
        properties = find_child(paragraph, "pPr")
        level = properties.get("lvl") if properties is not None else None
        depth = min(int(level), 8) if level and level.isdigit() else 0
        if text:
            lines.append(f"{'  ' * (depth - 1)}- {text}" if depth else text)
    return "\n".join(lines)


def _text_of(element: Any) -> str:
    name = local_name(element)
    return (element.text or "") if name == "t" else "\n" if name == "br" else ""


def _read_rows(table: Any) -> Iterator[list[str]]:
    for row in table:
        if local_name(row) == "tr":
            yield [_read_text(find_child(cell, "txBody")) for cell in row if local_name(cell) == "tc"]
