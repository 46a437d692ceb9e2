"""YAML as it is written, with its comments, cut at the keys of its first level. Nothing is resolved: no alias grows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vaults.formats.parsed_document import ParsedDocument, ParsedPart, ParseLimits
from vaults.formats.part_cutting import cut_lines
from vaults.formats.part_limits import take_parts
from vaults.formats.plain_text import describe_lines
from vaults.formats.text_encoding import read_text

_KEY = re.compile(r"([^\s#'\"\-\[{&*!|>%@`][^:#]{0,100}|\"[^\"]{1,100}\"|'[^']{1,100}')\s*:(?:\s|$)")
_END = re.compile(r"(?:---|\.\.\.)(?:\s|$)")

SMALL = 1_500
"""Characters up to which keys share a part."""


def parse(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse YAML, or what is called so."""
    warnings: list[str] = []
    lines = read_text(data, limits, warnings).split("\n")
    return ParsedDocument(
        "yaml", "application/yaml", take_parts(_cut(lines), limits, warnings), warnings=tuple(warnings)
    )


def _cut(lines: list[str]) -> Iterator[ParsedPart]:
    start, size = 0, 0
    keys: list[str] = []
    for at, line in enumerate([*lines, "---"]):
        ends = at == len(lines) or _END.match(line) is not None
        key = _KEY.match(line)
        if ends or (key and size > SMALL):
            heading = keys[0].strip("\"'") if len(keys) == 1 else None
            for piece in cut_lines(lines[start:at], start + 1):
                yield ParsedPart(piece.text, heading=heading, locator=describe_lines(piece))
            start, size, keys = at + (1 if ends else 0), 0, []
        if key:
            keys.append(key[1])
        size += len(line) + 1
