"""Which format a file has: what its bytes say counts before its name, and its name before a declared MIME type."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import PurePosixPath

from vaults.formats.known import BY_MIME, BY_NAME, BY_SUFFIX, TEXT, FileFormat
from vaults.formats.packed_file import DAMAGED
from vaults.formats.parsed_document import ParseFailed
from vaults.formats.text_encoding import has_bom

_HEAD = 4096
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")

_OTHERS = (
    (re.compile(rb"\x89PNG|\xff\xd8\xff|GIF8|RIFF....WEBP|II\*\0|MM\0\*|BM.{4}\0\0\0\0", re.DOTALL), "a picture"),
    (re.compile(rb"ID3|OggS|fLaC|RIFF....(?:WAVE|AVI )|....ftyp|\x1aE\xdf\xa3", re.DOTALL), "sound or video"),
    (re.compile(rb"\x1f\x8b|BZh|\xfd7zXZ\0|7z\xbc\xaf|Rar!|\x28\xb5\x2f\xfd"), "an archive: unpack it first"),
    (re.compile(rb"\x7fELF|MZ.{58}|\xca\xfe\xba\xbe|\xfe\xed\xfa|\xcf\xfa\xed\xfe|\0asm", re.DOTALL), "a program"),
    (re.compile(rb"SQLite format 3\0"), "a database"),
    (re.compile(rb"\{\\rtf"), "RTF: save it as DOCX first"),
)
"""What is recognised, and not read."""

_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.{0,2000}?-->\s*)*<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_SIGNED_TEXT = (
    ("subtitles", re.compile(rb"(?:\xef\xbb\xbf)?WEBVTT(?:\s|\Z)|(?:\xef\xbb\xbf)?\s*\d+\r?\n\d\d:\d\d:\d\d,\d+ --> ")),
    ("mbox", re.compile(rb"From [^\n]{1,200}\d{4}\r?\n[\w-]{1,60}: ")),
    ("notebook", re.compile(rb"\s*\{\s*\"(?:cells|metadata|nbformat)\".*\"nbformat\"", re.DOTALL)),
)
"""Of files whose name says nothing."""

_MAIL_HEADER = re.compile(
    rb"(?:Received|Return-Path|Delivered-To|MIME-Version|Message-ID|DKIM-Signature): ", re.IGNORECASE
)


def detect(data: bytes, name: str, mime: str | None = None) -> FileFormat:
    """The format of a file. Raises ``ParseFailed`` for one that is not read."""
    named = BY_SUFFIX.get(PurePosixPath(name.lower()).suffix)
    return _find_binary(data) or _find_text(data, named, mime)


def is_misnamed(found: FileFormat, name: str) -> bool:
    """Whether the name of a file says another format."""
    named = BY_SUFFIX.get(PurePosixPath(name.lower()).suffix)
    return named is not None and named is not found


def is_binary(data: bytes) -> bool:
    """Whether the bytes are no text: they hold NUL, and no byte order mark says that this is how letters look here."""
    return b"\0" in data and not has_bom(data)


def _find_binary(data: bytes) -> FileFormat | None:
    if b"%PDF-" in data[:1024]:
        return BY_NAME["pdf"]
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _find_in_zip(data)
    if data.startswith(_OLE):
        if _ENCRYPTED_PACKAGE in data:
            raise ParseFailed("encrypted", "the document is encrypted")
        raise ParseFailed("unsupported", "a document of an Office before 2007: save it as DOCX, XLSX or PPTX first")
    for pattern, what in _OTHERS:
        if pattern.match(data) and (is_binary(data) or what.startswith("RTF")):
            raise ParseFailed("unsupported", f"the file is {what}")
    if is_binary(data):
        raise ParseFailed("unsupported", "the file is binary, and of no format that is read")
    return None


def _find_in_zip(data: bytes) -> FileFormat:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            names = set(packed.namelist())
            kind = _read_kind(packed) if "mimetype" in names else ""
    except DAMAGED:
        raise ParseFailed("damaged", "the file is damaged or incomplete") from None
    if kind in BY_MIME:
        return BY_MIME[kind]
    if kind.startswith("application/vnd.oasis.opendocument.text"):
        return BY_NAME["odt"]
    for name, member in (("docx", "word/"), ("pptx", "ppt/presentation.xml"), ("xlsx", "xl/workbook.xml")):
        if "[Content_Types].xml" in names and any(each.startswith(member) for each in names):
            return BY_NAME[name]
    raise ParseFailed(
        "unsupported", "the file is an archive, or a document of a kind that is not read: unpack it first"
    )


def _read_kind(packed: zipfile.ZipFile) -> str:
    with packed.open("mimetype") as member:
        return member.read(100).decode("ascii", "replace").strip()


def _find_text(data: bytes, named: FileFormat | None, mime: str | None) -> FileFormat:
    """A name of a text format is believed, but where the bytes are a page in HTML and the name says data."""
    head = data[:_HEAD]
    if named is not None and named.is_text and named.name in ("text", "markdown", "yaml", "html"):
        return named
    if _HTML.match(head):
        return BY_NAME["html"]
    if named is not None and named.is_text:
        return named
    signed = next((BY_NAME[each] for each, pattern in _SIGNED_TEXT if pattern.match(head)), None)
    declared = BY_MIME.get((mime or "").partition(";")[0].strip().lower())
    if signed is None and _MAIL_HEADER.match(head):
        signed = BY_NAME["email"]
    return signed or (declared if declared is not None and declared.is_text else None) or TEXT
