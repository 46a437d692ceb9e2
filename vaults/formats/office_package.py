"""What DOCX, PPTX and XLSX have in common: relations between the members of the zip, and what is said of the whole."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Any

from vaults.formats.moments import to_moment
from vaults.formats.packed_file import PackedFile, resolve_member
from vaults.formats.parsed_document import ParseFailed
from vaults.formats.part_limits import clean_line

RELATION_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_STRICT = "http://purl.oclc.org/ooxml/"
_DC = "{http://purl.org/dc/elements/1.1/}"
_TERMS = "{http://purl.org/dc/terms/}"


@dataclass(frozen=True, slots=True)
class Relation:
    """A member, or an address outside, that another member uses. ``kind``: the last word of its type."""

    kind: str
    target: str
    external: bool


@dataclass(frozen=True, slots=True)
class CoreProperties:
    """What a document says of itself."""

    title: str | None = None
    author: str | None = None
    created_at: str | None = None
    modified_at: str | None = None


def read_relations(packed: PackedFile, member: str) -> dict[str, Relation]:
    """The relations of a member by their ids; of the whole file for the member "". Raises ``ParseFailed``."""
    folder, name = posixpath.split(member)
    root = packed.find_xml(posixpath.join(folder, "_rels", f"{name}.rels"))
    found: dict[str, Relation] = {}
    for each in root if root is not None else ():
        external = each.get("TargetMode") == "External"
        target = each.get("Target") or ""
        kind = (each.get("Type") or "").rpartition("/")[2]
        found[each.get("Id") or ""] = Relation(kind, target if external else resolve_member(member, target), external)
    return found


def find_main_member(packed: PackedFile) -> str:
    """The member that holds the document itself. Raises ``ParseFailed``."""
    for each in read_relations(packed, "").values():
        if each.kind == "officeDocument" and not each.external:
            return each.target
    raise ParseFailed("damaged", "the file lacks a part that such a file has")


def read_core_properties(packed: PackedFile) -> CoreProperties:
    """Title, author and dates. Raises ``ParseFailed``."""
    root = packed.find_xml("docProps/core.xml")
    if root is None:
        return CoreProperties()
    return CoreProperties(
        title=clean_line(root.findtext(f"{_DC}title")),
        author=clean_line(root.findtext(f"{_DC}creator")),
        created_at=to_moment(root.findtext(f"{_TERMS}created")),
        modified_at=to_moment(root.findtext(f"{_TERMS}modified")),
    )


def local_name(element: Any) -> str:
    """The name of an element without its namespace: the strict and the transitional form differ in that alone."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def find_value(element: Any, name: str) -> str | None:
    """The value of an attribute, whatever its namespace."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), None)


def find_child(element: Any, *path: str) -> Any:
    """The first child of a child … with these names, whatever their namespaces; None where there is none."""
    for name in path:
        element = next((each for each in element if local_name(each) == name), None)
        if element is None:
            return None
    return element
