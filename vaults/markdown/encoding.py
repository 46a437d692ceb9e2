"""Decodes the bytes of a note and encodes them again, exactly."""

from __future__ import annotations

from dataclasses import dataclass

BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class NotText(ValueError):
    """The bytes are not UTF-8 text. ``reason`` is short and reveals nothing of the content."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class NoteSource:
    """A note's text exactly as in the file, line endings included. ``bom``: a byte order mark stood before it."""

    text: str
    bom: bool


def decode(data: bytes) -> NoteSource:
    """The text of ``data``; :func:`encode` gives the same bytes back. Raises :class:`NotText`."""
    if data.startswith(_UTF16):
        raise NotText("UTF-16, not UTF-8")
    if b"\0" in data:
        raise NotText("holds NUL bytes")
    bom = data.startswith(BOM)
    try:
        return NoteSource(str(data[len(BOM) :] if bom else data, "utf-8"), bom)
    except UnicodeDecodeError as error:
        at = error.start + (len(BOM) if bom else 0)
        raise NotText(f"not UTF-8 at byte {at}") from None


def encode(source: NoteSource) -> bytes:
    """The bytes of the file. Raises :class:`NotText` for a lone surrogate, which no file can hold."""
    try:
        data = source.text.encode()
    except UnicodeEncodeError:
        raise NotText("holds a lone surrogate") from None
    return BOM + data if source.bom else data


def dominant_newline(text: str) -> str:
    r"""The most frequent line ending: ``\n`` (also if there is none), ``\r\n`` or ``\r``."""
    pairs = text.count("\r\n")
    lone = text.count("\r") - pairs
    plain = text.count("\n") - pairs
    if pairs > plain and pairs >= lone:
        return "\r\n"
    return "\r" if lone > plain else "\n"


def to_lf_same_length(text: str) -> str:
    r"""``text`` with ``\n`` for every line ending, at the same length, so that offsets hold.

    A ``\r\n`` becomes a blank and a ``\n``.
    """
    if "\r" not in text:
        return text
    return text.replace("\r\n", " \n").replace("\r", "\n")
