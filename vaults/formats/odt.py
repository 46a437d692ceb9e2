"""ODT: headings, paragraphs, lists and tables in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vaults.formats.moments import to_moment
from vaults.formats.office_package import find_child, find_value, local_name
from vaults.formats.packed_file import PackedFile
from vaults.formats.parsed_document import ParsedDocument, ParseFailed, ParseLimits
from vaults.formats.part_limits import clean_line, take_parts
from vaults.formats.section_builder import SectionBuilder
from vaults.formats.table_text import to_table

MIME = "application/vnd.oasis.opendocument.text"

MAX_REPEATED = 50
"""How often a cell that stands for several counts at most."""

_NEVER_READ = frozenset({"tracked-changes", "annotation", "annotation-end", "sequence-decls", "forms", "ruby-text"})
_MARKS = {"tab": "\t", "line-break": "\n"}


def parse(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse an ODT. Comments and what its tracked changes deleted are not read."""
    packed = PackedFile(data, limits)
    manifest = packed.find("META-INF/manifest.xml") or b""
    if b"encryption-data" in manifest:
        raise ParseFailed("encrypted", "the document is encrypted")
    body = find_child(packed.read_xml("content.xml"), "body", "text")
    if body is None:
        raise ParseFailed("damaged", "the file lacks a part that such a file has")
    sections = SectionBuilder()
    _read_blocks(body, sections)
    warnings: list[str] = []
    parts = take_parts(sections.build(), limits, warnings)
    about = _read_meta(packed)
    return ParsedDocument(
        format="odt",
        mime=MIME,
        parts=parts,
        title=clean_line(about.get("title")) or clean_line(sections.title),
        author=clean_line(about.get("initial-creator") or about.get("creator")),
        created_at=to_moment(about.get("creation-date")),
        modified_at=to_moment(about.get("date")),
        warnings=tuple(warnings),
    )


def _read_meta(packed: PackedFile) -> dict[str, str]:
    root = packed.find_xml("meta.xml")
    meta = find_child(root, "meta") if root is not None else None
    return {local_name(each): each.text or "" for each in (meta if meta is not None else ())}


def _read_blocks(body: Any, sections: SectionBuilder) -> None:
    from lxml import etree

    depth = 0  # of lists
    walk = etree.iterwalk(body, events=("start", "end"))
    for event, each in walk:
        name = local_name(each)
        if name == "list":
            depth += 1 if event == "start" else -1
        if event == "end":
            continue
        if name in _NEVER_READ:
            walk.skip_subtree()
        elif name == "table":
            sections.add_block(to_table(_read_rows(each)))
            walk.skip_subtree()
        elif name in ("h", "p"):
            _read_paragraph(each, sections, depth)
            walk.skip_subtree()


def _read_paragraph(element: Any, sections: SectionBuilder, depth: int) -> None:
    text = _text_of(element).strip()
    if local_name(element) == "h":
        level = find_value(element, "outline-level") or "1"
        sections.add_heading(int(level) if level.isdigit() else 1, text[:500])
    elif text:
        sections.add_block(f"{'  ' * min(depth - 1, 8)}- {text}" if depth else text)


def _read_rows(table: Any) -> Iterator[list[str]]:
    for row in table.iter():
        if local_name(row) == "table-row":
            yield [text for cell in row for text in _read_cell(cell)]


def _read_cell(cell: Any) -> list[str]:
    if local_name(cell) not in ("table-cell", "covered-table-cell"):
        return []
    repeated = find_value(cell, "number-columns-repeated") or "1"
    count = min(int(repeated) if repeated.isdigit() else 1, MAX_REPEATED)
    return [" ".join(_text_of(cell).split())] * count


def _text_of(element: Any) -> str:
    """The text in a paragraph, links as text (address)."""
    from lxml import etree

    texts: list[str] = []
    walk = etree.iterwalk(element, events=("start", "end"))
    for event, each in walk:
        name = local_name(each)
        if event == "start":
            if name in _NEVER_READ:
                walk.skip_subtree()
            else:
                texts.append(_begin(each, name))
        else:
            texts.append(_end(each, name) + ((each.tail or "") if each is not element else ""))
    return "".join(texts)


def _begin(element: Any, name: str) -> str:
    if name == "s":  # several blanks
        count = find_value(element, "c") or "1"
        return " " * min(int(count) if count.isdigit() else 1, 100)
    return _MARKS.get(name, "") + (element.text or "")


def _end(element: Any, name: str) -> str:
    if name == "p":
        return "\n"
    address = find_value(element, "href") if name == "a" else None
    return f" ({address})" if address and "://" in address[:20] and len(address) <= 500 else ""
