"""E-mail: EML files and MBOX archives. A message is a part, or several where it is long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesParser
from typing import Any

from vaults.formats import html_page
from vaults.formats.moments import to_moment
from vaults.formats.parsed_document import ParsedDocument, ParsedPart, ParseFailed, ParseLimits
from vaults.formats.part_cutting import cut_text
from vaults.formats.part_limits import clean_line, take_parts
from vaults.formats.text_encoding import decode_text

MAX_NESTED = 3
"""How deep messages within messages are read."""

MAX_HEADER = 4_000
"""Characters read of a header: decoding takes the square of their number."""

MAX_NAMED = 50
"""Attachments named in the warnings."""

_FROM = re.compile(rb"^From [^\n]*\n", re.MULTILINE)
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)


def parse(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse one message."""
    reader = _MessageReader(limits)
    message = _load(data)
    warnings: list[str] = []
    parts = take_parts(reader.read(message, None, 0), limits, warnings)
    to = clean_line(_header(message, "To"))
    return ParsedDocument(
        format="email",
        mime="message/rfc822",
        parts=parts,
        title=clean_line(_header(message, "Subject")),
        author=clean_line(_header(message, "From")),
        created_at=_find_date(message),
        warnings=(*warnings, *reader.describe_attachments()),
        metadata={"to": to} if to else {},
    )


def parse_mbox(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse an archive, in the order it is in."""
    reader = _MessageReader(limits)
    warnings: list[str] = []
    parts = take_parts(_read_messages(data, reader), limits, warnings)
    times = sorted(part.at for part in parts if part.at)
    return ParsedDocument(
        format="mbox",
        mime="application/mbox",
        parts=parts,
        created_at=times[0] if times else None,
        modified_at=times[-1] if times else None,
        warnings=(*warnings, *reader.describe_attachments()),
    )


def _read_messages(data: bytes, reader: _MessageReader) -> Iterator[ParsedPart]:
    starts = [found for found in _FROM.finditer(data) if data[max(0, found.start() - 2) : found.start()].strip() == b""]
    for number, found in enumerate(starts, 1):
        end = starts[number].start() if number < len(starts) else len(data)
        message = _load(_QUOTED_FROM.sub(rb"\1", data[found.end() : end]))
        yield from reader.read(message, f"message {number}", 0)


def _load(data: bytes) -> Message:
    try:
        return BytesParser().parsebytes(data)
    except RecursionError:
        raise ParseFailed("too_deep", "the message is nested too deep") from None


def _header(message: Message, name: str) -> str | None:
    """A header, decoded as far as it can be."""
    value = message.get(name)
    if value is None:
        return None
    written = str(value)[:MAX_HEADER]
    try:
        return str(make_header(decode_header(written)))
    except (ValueError, LookupError, TypeError, MessageError):
        return written


def _find_date(message: Message) -> str | None:
    return to_moment(str(message.get("Date") or ""))


class _MessageReader:
    """Reads messages, and gathers what is attached to them."""

    def __init__(self, limits: ParseLimits) -> None:
        self._limits = limits
        self._attachments: list[str] = []

    def read(self, message: Message, locator: str | None, depth: int) -> Iterator[ParsedPart]:
        """The parts of a message; those of messages within it follow."""
        subject, author, at = _header(message, "Subject"), _header(message, "From"), _find_date(message)
        inner: list[Message] = []
        texts = self._read_bodies(message, inner)
        to = clean_line(_header(message, "To"))
        text = "\n\n".join([f"To: {to}"] * bool(to) + texts)
        for piece in cut_text(text):
            yield ParsedPart(piece.text, heading=subject, locator=locator, author=author, at=at)
        for each in inner if depth < MAX_NESTED else ():
            yield from self.read(each, locator, depth + 1)

    def _read_bodies(self, message: Message, inner: list[Message]) -> list[str]:
        """The texts of a message; of alternatives the plain one."""
        texts: list[str] = []
        waiting: list[Message] = [message]
        while waiting:
            part = waiting.pop()
            kind = part.get_content_type()
            if kind == "message/rfc822" and part.is_multipart():
                inner += _parts_of(part)[:1]
            elif part.is_multipart():
                waiting += reversed(_choose(part))
            elif part.get_content_disposition() == "attachment" or not kind.startswith("text/"):
                self._attachments.append(f"{_file_name(part) or 'unnamed'} ({kind})")
            else:
                texts.append(self._read_text(part, kind))
        return [text for text in texts if text.strip()]

    def _read_text(self, part: Message, kind: str) -> str:
        data = part.get_payload(decode=True)
        if not isinstance(data, bytes):
            return ""
        if kind == "text/html":
            try:
                parts = html_page.parse(data, self._limits).parts
            except ParseFailed:
                return ""
            return "\n\n".join(each.text for each in parts)
        charset = part.get_param("charset")
        return decode_text(data, charset if isinstance(charset, str) else None).strip()

    def describe_attachments(self) -> list[str]:
        """A warning that names what is attached, if anything is."""
        names = [clean_line(each) or "" for each in self._attachments[:MAX_NAMED]]
        more = len(self._attachments) - len(names)
        if not names:
            return []
        return [f"attachments were not read: {', '.join(names)}{f' and {more} more' if more else ''}"]


def _choose(part: Message) -> list[Message]:
    """What is read of a multipart: of alternatives the plain text, else the last."""
    parts = _parts_of(part)
    if part.get_content_type() != "multipart/alternative":
        return parts
    plain = [each for each in parts if each.get_content_type() == "text/plain"]
    return plain[:1] or parts[-1:]


def _parts_of(part: Message) -> list[Message]:
    payload: Any = part.get_payload()
    return [each for each in payload if isinstance(each, Message)] if isinstance(payload, list) else []


def _file_name(part: Message) -> str | None:
    try:
        return part.get_filename()
    except (ValueError, LookupError, TypeError):
        return None
