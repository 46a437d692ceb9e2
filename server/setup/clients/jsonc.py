"""JSON with comments and trailing commas, read with the place of everything in the text, to be edited there.

``json`` reads neither comments nor trailing commas, and no library in use keeps them when it writes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 200
"""Objects and arrays in each other: deeper files are refused before Python's stack ends."""

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/|[\[\]{}]', re.DOTALL)
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|true\b|false\b|null\b")


class NotJson(ValueError):
    """The text is no JSON with comments. The message says where, and quotes nothing: files of clients hold secrets."""


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A key and its value. ``begin`` is the place of the key's first character, ``comma`` that of the comma behind."""

    key: str
    begin: int
    node: JsonNode
    comma: int | None


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value from ``begin`` to before ``end``. ``members`` None: no object."""

    begin: int
    end: int
    value: Any
    members: tuple[JsonMember, ...] | None = None

    def member(self, key: str) -> JsonMember | None:
        """The member of that name. Raises ``NotJson`` if there are two: clients differ in which one they take."""
        found = [each for each in self.members or () if each.key == key]
        if len(found) > 1:
            raise NotJson(f"{key} stands there twice")
        return found[0] if found else None


def parse(text: str, path: Sequence[str] | None = None) -> JsonNode | None:
    """The value in a text; None if there are only spaces and comments. Raises ``NotJson``.

    With ``path`` only members on it are read, in a tenth of the time: those beside it have the value None. The text
    must be known to be JSON then.
    """
    begin = _skip(text, 0)
    if begin == len(text):
        return None
    node = _value(text, begin, 0, path)
    if (end := _skip(text, node.end)) != len(text):
        raise _wrong(text, end, "the end")
    return node


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _skim(text: str, begin: int) -> JsonNode:
    """A value by its brackets alone."""
    if text[begin] not in "{[":
        return _value(text, begin, 0, None)
    depth = 0
    for found in _BRACKET.finditer(text, begin):
        depth += (found[0] in "{[") - (found[0] in "}]")
        if depth == 0 and found[0] in "}]":
            return JsonNode(begin, found.end(), None)
    raise _wrong(text, len(text), "a bracket")


def _value(text: str, at: int, depth: int, path: Sequence[str] | None) -> JsonNode:
    if depth > MAX_DEPTH:
        raise NotJson(f"more than {MAX_DEPTH} objects and arrays in each other")
    if text.startswith("{", at):
        return _object(text, at, depth, path)
    if text.startswith("[", at):
        return _array(text, at, depth)
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if found is None:
        raise _wrong(text, at, "a value")
    try:
        return JsonNode(at, found.end(), json.loads(found[0]))
    except ValueError:  # an escape that is none
        raise _wrong(text, at, "a value") from None


def _object(text: str, begin: int, depth: int, path: Sequence[str] | None) -> JsonNode:
    members: list[JsonMember] = []
    at = _skip(text, begin + 1)
    while not text.startswith("}", at):
        if members and members[-1].comma is None:
            raise _wrong(text, at, "a comma or }")
        key = _STRING.match(text, at)
        if key is None:
            raise _wrong(text, at, "a key or }")
        colon = _skip(text, key.end())
        if not text.startswith(":", colon):
            raise _wrong(text, colon, "a colon")
        name = _key(text, at, key[0])
        node = _member_value(text, _skip(text, colon + 1), depth + 1, name, path)
        comma = _skip(text, node.end)
        has_comma = text.startswith(",", comma)
        members.append(JsonMember(name, at, node, comma if has_comma else None))
        at = _skip(text, comma + 1) if has_comma else comma
    return JsonNode(begin, at + 1, {each.key: each.node.value for each in members}, tuple(members))


def _member_value(text: str, at: int, depth: int, name: str, path: Sequence[str] | None) -> JsonNode:
    if path is None:
        return _value(text, at, depth, None)
    return _value(text, at, depth, path[1:]) if path[:1] == [name] else _skim(text, at)


def _key(text: str, at: int, quoted: str) -> str:
    try:
        return str(json.loads(quoted))
    except ValueError:
        raise _wrong(text, at, "a key") from None


def _array(text: str, begin: int, depth: int) -> JsonNode:
    values: list[Any] = []
    at, more = _skip(text, begin + 1), True
    while not text.startswith("]", at):
        if not more:
            raise _wrong(text, at, "a comma or ]")
        node = _value(text, at, depth + 1, None)
        values.append(node.value)
        at = _skip(text, node.end)
        if more := text.startswith(",", at):
            at = _skip(text, at + 1)
    return JsonNode(begin, at + 1, values)


def _wrong(text: str, at: int, wanted: str) -> NotJson:
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    return NotJson(f"line {line}, column {column}: {wanted} should stand there")
