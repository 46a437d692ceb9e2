"""Which format a file has: what its bytes say counts before its name, and its name before a declared MIME type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from vaults.formats.text_encoding import has_bom


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format by name. ``module``: of this package, with ``parse``; ``needs``: what it imports that may be absent."""

    name: str
    mime: str
    suffixes: tuple[str, ...]
    module: str
    other_mimes: tuple[str, ...] = ()


FORMATS = (
    FileFormat("text", "text/plain", (".txt", ".text", ".log", ".rst", ".adoc", ".org", ".tex"), "plain_text"),
    FileFormat("markdown", "text/markdown", (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd"), "markdown_text"),
    FileFormat("html", "text/html", (".html", ".htm", ".xhtml"), "html_page", ("application/xhtml+xml",)),
)
BY_NAME = {each.name: each for each in FORMATS}
_BY_SUFFIX = {suffix: each for each in FORMATS for suffix in each.suffixes}
_BY_MIME = {mime: each for each in FORMATS for mime in (each.mime, *each.other_mimes)}
_TEXT = BY_NAME["text"]


def detect(data: bytes, name: str, mime: str | None = None) -> FileFormat | None:
    """The format of a file; None for a binary file of no known format."""
    named = _BY_SUFFIX.get(PurePosixPath(name.lower()).suffix)
    if is_binary(data):
        return None
    declared = _BY_MIME.get((mime or "").partition(";")[0].strip().lower())
    return named or _find_text_format(data) or declared or _TEXT


def is_binary(data: bytes) -> bool:
    """Whether the bytes are no text: they hold NUL, and no byte order mark says that this is how letters look here."""
    return b"\0" in data and not has_bom(data)


_HTML = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.{0,2000}?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)


def _find_text_format(data: bytes) -> FileFormat | None:
    return BY_NAME["html"] if _HTML.match(data[:4096]) else None
