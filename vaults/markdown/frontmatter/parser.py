"""Parses the YAML block at the top of a note, quickly and within bounds."""

from __future__ import annotations

import re
from typing import Any

from vaults.markdown.frontmatter.values import ParsedFrontmatter, parse_scalar
from vaults.markdown.frontmatter.yaml_reader import load_yaml

MAX_CHARACTERS = 65_536

_OPENING = re.compile(r"---[ \t]*\n")
_CLOSING = re.compile(r"\n(?:---|\.\.\.)[ \t]*+(?=\n)")

# Most notes hold one `key: value` or `- value` a line, read here without a YAML parser. Anything else is left to it.
_PLAIN = r"[^\W\d_][^\x00-\x1f:#\x7f-\xa0\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]*+|[0-9][0-9A-Za-z.+-]*+"
_QUOTED = r"\"[^\"\\\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]*+\""
_FLOW = r"\[ *(?:[0-9A-Za-z][0-9A-Za-z_/.-]*+ *(?:, *[0-9A-Za-z][0-9A-Za-z_/.-]*+ *)*+)?\]"
_VALUE = rf"{_PLAIN}|{_QUOTED}|{_FLOW}"
_LINE = re.compile(rf"(?:([A-Za-z_][A-Za-z0-9_-]*+):|( *)-)(?: +({_VALUE}))? *\n")


def find_body_start(text: str, lines: str) -> int:
    r"""Where the body starts: after the block from ``---`` in the first line to ``---`` or ``...``; 0 without one.

    ``lines`` is ``text`` with a ``\n`` in front and one behind, and ``\n`` for every line ending.
    """
    if not text.startswith("---") or not _OPENING.match(lines, 1):
        return 0
    close = _CLOSING.search(lines, 4)
    return min(close.end(), len(text)) if close else 0


def parse_frontmatter(block: str) -> ParsedFrontmatter:
    """The values of a block, fences included. Never raises."""
    if "\r" in block:
        block = block.replace("\r\n", "\n").replace("\r", "\n")
    inner = block[block.find("\n") + 1 :].rstrip("\n")
    inner = inner[: inner.rfind("\n") + 1]
    if len(inner) > MAX_CHARACTERS:
        return ParsedFrontmatter(error=f"longer than {MAX_CHARACTERS} characters")
    values = _parse_flat(inner)
    if values is not None:
        return ParsedFrontmatter(values)
    return load_yaml(inner)


def _parse_flat(inner: str) -> dict[str, Any] | None:
    """The values of a flat block; None if the block needs a YAML parser."""
    values: dict[str, Any] = {}
    key, indent, at = None, -1, 0
    while at < len(inner):
        found = _LINE.match(inner, at)
        if found is None:
            return None
        at = found.end()
        if found[1] is not None:
            key, indent = found[1], -1 if found[3] is None else -2  # -2: has its value, takes no items
            if key in values:
                return None
            values[key] = _parse_value(found[3])
        elif key is None or indent not in (-1, len(found[2])):
            return None
        elif indent == -1:
            values[key], indent = [_parse_value(found[3])], len(found[2])
        else:
            values[key].append(_parse_value(found[3]))
    return values


def _parse_value(written: str | None) -> Any:
    if written is None:
        return None
    if written[0] == '"':
        return written[1:-1]
    if written[0] == "[":
        inside = written[1:-1].strip(" ")
        return [parse_scalar(word.strip(" ")) for word in inside.split(",")] if inside else []
    return parse_scalar(written.rstrip(" "))
