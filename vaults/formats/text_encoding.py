"""From bytes to text, whatever they are encoded in. Never raises."""

from __future__ import annotations

import codecs
import re

from vaults.formats.parsed_document import ParseLimits

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
SAMPLE = 65_536
"""Bytes by which an encoding is guessed."""

MAX_STRAY = 0.005
"""Share of bytes that may be no UTF-8 in a text that otherwise is: logs and mail hold a line of something else."""

_GUESSED = (
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r", "cp932", "euc_jp", "gb18030",
    "big5", "euc_kr",
)  # fmt: skip
"""What people use, or used. Of those that fit alike the first is taken."""


def has_bom(data: bytes) -> bool:
    """Whether the bytes begin with a byte order mark."""
    return data.startswith(tuple(mark for mark, _ in _BOMS))


def decode_text(data: bytes, declared: str | None = None) -> str:
    r"""The text, with ``\n`` for every line ending. ``declared``: what the file says its encoding is, believed where
    the bytes agree. A byte order mark counts first, then UTF-8, then what is declared, then what looks most likely."""
    text = _decode_marked(data)
    if text is None:
        text = _decode_as(data, "utf-8")
    if text is None and declared:
        text = _decode_as(data, declared)
    if text is None:
        text = _decode_nearly_utf8(data) or _decode_guessed(data)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_text(data: bytes, limits: ParseLimits, warnings: list[str], declared: str | None = None) -> str:
    """The text as far as a document may be long; what is left off stands in ``warnings``."""
    most = limits.characters
    text = decode_text(data[: most * 4], declared)
    if len(text) > most or len(data) > most * 4:
        warnings.append(f"only the first {most:,} characters were read: too long")
        return text[: text.rfind("\n", most // 2, most) + 1 or most]
    return text


def _decode_marked(data: bytes) -> str | None:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    return None


_ENCODING_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._-]{1,30}\Z")
_NOTATIONS = frozenset({"unicode-escape", "raw-unicode-escape", "punycode", "idna", "undefined"})
"""What Python calls an encoding and no file is in: ways to write text down as ASCII."""


def _decode_as(data: bytes, encoding: str) -> str | None:
    if not _ENCODING_NAME.match(encoding):
        return None
    try:
        codec = codecs.lookup(encoding)
        if not getattr(codec, "_is_text_encoding", True) or codec.name.replace("_", "-") in _NOTATIONS:
            return None  # the first: zip, hex and the like, which do not lead from bytes to text
        return data.decode(encoding)
    except (LookupError, UnicodeError, ValueError):
        return None


def _decode_nearly_utf8(data: bytes) -> str | None:
    """UTF-8 in which single bytes are something else: these are taken for Windows-1252."""
    text = data.decode("utf-8", "surrogateescape")
    stray = sum(map(len, re.findall("[\udc80-\udcff]+", text)))
    others = len(data) - len(text)  # bytes beyond the first of each character: none, and it is no UTF-8 at all
    if stray > MAX_STRAY * len(data) and stray > others / 4:
        return None
    return re.sub("[\udc80-\udcff]", lambda found: _from_cp1252(ord(found[0]) - 0xDC00), text) if others else None


def _from_cp1252(byte: int) -> str:
    return bytes((byte,)).decode("cp1252", "replace")


def _decode_guessed(data: bytes) -> str:
    encoding = _guess(data[:SAMPLE]) or "cp1252"
    return data.decode(encoding, "replace")


def _guess(sample: bytes) -> str | None:
    try:
        import charset_normalizer
    except ImportError:
        return None
    matches = list(charset_normalizer.from_bytes(sample, cp_isolation=list(_GUESSED)))
    if not matches:
        return None
    best = matches[0]
    alike = [each for each in matches if (each.chaos, each.coherence) == (best.chaos, best.coherence)]
    names = {name for each in alike for name in (each.encoding, *each.could_be_from_charset)}
    return "cp1252" if "cp1252" in names else str(best.encoding)
