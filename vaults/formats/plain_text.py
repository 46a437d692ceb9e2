"""Text files, and whatever else is text: parts of bounded size, cut at blank lines."""

from __future__ import annotations

from vaults.formats.parsed_document import ParsedDocument, ParsedPart, ParseLimits
from vaults.formats.part_cutting import CutText, cut_text
from vaults.formats.part_limits import take_parts
from vaults.formats.text_encoding import read_text


def parse(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse text in any encoding."""
    warnings: list[str] = []
    text = read_text(data, limits, warnings)
    parts = (ParsedPart(piece.text, locator=describe_lines(piece)) for piece in cut_text(text))
    return ParsedDocument("text", "text/plain", take_parts(parts, limits, warnings), warnings=tuple(warnings))


def describe_lines(piece: CutText) -> str:
    """The lines of a piece, for people."""
    if piece.first_line == piece.last_line:
        return f"line {piece.first_line}"
    return f"lines {piece.first_line}–{piece.last_line}"
