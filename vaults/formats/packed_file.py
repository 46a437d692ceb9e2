"""A zip with the parts of a document, read within limits: nothing is unpacked to a disk, and nothing beyond what a file
may cost."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from typing import Any
from urllib.parse import unquote

from vaults.formats.parsed_document import ParseFailed, ParseLimits

MAX_MEMBERS = 20_000
"""Max members; documents have hundreds."""

MAX_RATIO = 300
"""How much smaller a large member may be packed: XML of repetitive tables comes to 100, zeros to 1000."""

HEAD_BYTES = 65_536
"""Where XML defines entities, if it does."""

_LARGE = 8 << 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # what the others unpack to has no bound
_ENCRYPTED = 1
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError)
"""What reading a damaged zip raises."""


class PackedFile:
    """The members of a zip by name. Raises ``ParseFailed`` for what is none, or would unpack to too much."""

    def __init__(self, data: bytes, limits: ParseLimits) -> None:
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except DAMAGED:
            raise ParseFailed("damaged", "the file is damaged or incomplete") from None
        members = self._zip.infolist()
        self._members = {each.filename: each for each in members}
        self._room = limits.decompressed
        if len(members) > MAX_MEMBERS:
            raise ParseFailed("too_large", f"the file holds more than {MAX_MEMBERS:,} files")
        if sum(each.file_size for each in members) > limits.decompressed or any(map(_is_bomb, members)):
            raise ParseFailed(
                "too_large", f"the file unpacks to more than {limits.decompressed >> 20} MB, or is a bomb"
            )

    @property
    def names(self) -> list[str]:
        return list(self._members)

    def find(self, name: str, most: int | None = None) -> bytes | None:
        """The bytes of a member, or its first; None where there is none. Raises ``ParseFailed``."""
        member = self._members.get(name)
        if member is None:
            return None
        if member.flag_bits & _ENCRYPTED:
            raise ParseFailed("encrypted", "the file is encrypted")
        if member.compress_type not in _METHODS:
            raise ParseFailed("unsupported", "the file is packed in a way that is not read")
        try:
            with self._zip.open(member) as opened:
                # Never more than the member is declared to have, which is within the limits.
                data = opened.read(self._room + 1 if most is None else most)
        except DAMAGED:
            raise ParseFailed("damaged", "the file is damaged or incomplete") from None
        self._room -= len(data)
        if self._room < 0:
            raise ParseFailed("too_large", "the file unpacks to more than may be read")
        return data

    def read(self, name: str) -> bytes:
        """The bytes of a member that has to be there. Raises ``ParseFailed``."""
        data = self.find(name)
        if data is None:
            raise ParseFailed("damaged", "the file lacks a part that such a file has")
        return data

    def find_xml(self, name: str) -> Any:
        """The root of a member that is XML; None where there is none. Raises ``ParseFailed``."""
        data = self.find(name)
        return None if data is None else load_xml(data)

    def read_xml(self, name: str) -> Any:
        """The root of a member that has to be there. Raises ``ParseFailed``."""
        return load_xml(self.read(name))


def _is_bomb(member: zipfile.ZipInfo) -> bool:
    return member.file_size > _LARGE and member.file_size > MAX_RATIO * max(1, member.compress_size)


_ENTITY = re.compile(rb"<!ENTITY|<\0!\0E\0N\0T\0I\0T\0Y\0")


def refuse_entities(head: bytes) -> None:
    """Raises ``ParseFailed`` for XML that defines entities: no document of these kinds needs them, and bombs do."""
    if _ENTITY.search(head, 0, HEAD_BYTES):
        raise ParseFailed("damaged", "the file defines XML entities, which no document of its kind does")


def refuse_late_entities(head: bytes) -> None:
    """As ``refuse_entities``, also of XML that is so long before its root that entities may be defined where nobody
    looks: for what is then read by a parser that replaces them."""
    refuse_entities(head)
    if len(head) >= HEAD_BYTES and not _has_root(head.replace(b"\0", b"")):
        raise ParseFailed("damaged", "the file says more before its content than any document of its kind does")


def _has_root(head: bytes) -> bool:
    """Whether the root element begins in this, after comments and instructions alone."""
    at = head.find(b"<")
    while at >= 0:
        if head.startswith(b"<!--", at):
            end = head.find(b"-->", at + 4)
        elif head.startswith(b"<?", at):
            end = head.find(b"?>", at + 2)
        else:
            return not head.startswith(b"<!", at)
        at = head.find(b"<", end) if end >= 0 else -1
    return False


def load_xml(data: bytes) -> Any:
    """The root of XML. No entity is replaced, nothing is loaded from anywhere. Raises ``ParseFailed``."""
    from lxml import etree

    refuse_entities(data)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as failure:
        if "depth" in str(failure):
            raise ParseFailed("too_deep", "the file is nested too deep") from None
        raise ParseFailed("damaged", "the file is damaged or incomplete") from None
    if root is None:
        raise ParseFailed("damaged", "the file is damaged or incomplete")
    return root


def resolve_member(base: str, target: str) -> str:
    """The name of the member that ``target``, written in the member ``base``, means."""
    target = unquote(target.partition("#")[0])
    joined = target if target.startswith("/") else posixpath.join(posixpath.dirname(base), target)
    return posixpath.normpath(joined).lstrip("/")
