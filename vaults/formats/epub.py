"""EPUB: chapters in the order of the book, by their headings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vaults.formats.html_content import read_content
from vaults.formats.html_page import load_page
from vaults.formats.moments import to_moment
from vaults.formats.office_package import find_child, local_name
from vaults.formats.packed_file import PackedFile, resolve_member
from vaults.formats.parsed_document import ParsedDocument, ParseFailed, ParseLimits
from vaults.formats.part_limits import clean_line, take_parts
from vaults.formats.section_builder import SectionBuilder
from vaults.formats.text_encoding import decode_text

MIME = "application/epub+zip"


def parse(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse an EPUB. Raises ``ParseFailed``: encrypted for a book with copy protection."""
    packed = PackedFile(data, limits)
    package = _find_package(packed)
    root = packed.read_xml(package)
    chapters = [resolve_member(package, each) for each in _list_spine(root)]
    _refuse_protected(packed, chapters)
    warnings: list[str] = []
    if len(chapters) > limits.pages:
        warnings.append(f"only the first {limits.pages} of {len(chapters)} chapters were read")
    sections = SectionBuilder()
    for number, name in enumerate(chapters[: limits.pages], 1):
        sections.begin(f"chapter {number}")
        _read_chapter(packed.find(name), sections, warnings)
    about = _read_about(root)
    return ParsedDocument(
        format="epub",
        mime=MIME,
        parts=take_parts(sections.build(), limits, warnings),
        title=clean_line(about.get("title")) or clean_line(sections.title),
        author=clean_line(about.get("creator")),
        created_at=to_moment(about.get("date")),
        modified_at=to_moment(about.get("dcterms:modified")),
        warnings=tuple(warnings),
        metadata={"language": language} if (language := clean_line(about.get("language"))) else {},
    )


def _find_package(packed: PackedFile) -> str:
    for each in packed.read_xml("META-INF/container.xml").iter():
        if local_name(each) == "rootfile" and each.get("full-path"):
            return str(each.get("full-path"))
    raise ParseFailed("damaged", "the book names no contents")


def _list_spine(root: Any) -> Iterator[str]:
    manifest = find_child(root, "manifest")
    files = {each.get("id"): each.get("href") or "" for each in (manifest if manifest is not None else ())}
    spine = find_child(root, "spine")
    for each in spine if spine is not None else ():
        if files.get(each.get("idref")):
            yield files[each.get("idref")]


def _refuse_protected(packed: PackedFile, chapters: list[str]) -> None:
    """Fonts may be encrypted, and nobody needs them."""
    root = packed.find_xml("META-INF/encryption.xml")
    for each in root.iter() if root is not None else ():
        if local_name(each) == "CipherReference" and resolve_member("", each.get("URI") or "") in chapters:
            raise ParseFailed("encrypted", "the book is encrypted")


def _read_chapter(data: bytes | None, sections: SectionBuilder, warnings: list[str]) -> None:
    if data is None or not data.strip():
        return
    try:
        root, complete = load_page(decode_text(data))
    except ParseFailed:
        return
    if not complete:
        warnings.append("a chapter is nested too deep, and was read in part")
    body = next(root.iter("body"), None)
    read_content(root if body is None else body, sections)


def _read_about(root: Any) -> dict[str, str]:
    about: dict[str, str] = {}
    metadata = find_child(root, "metadata")
    for each in metadata if metadata is not None else ():
        about.setdefault(each.get("property") or local_name(each), each.text or "")
    return about
