"""Setting and removing one member of a JSON text with comments. Every other byte stays as it was."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from server.setup.clients.jsonc import JsonMember, JsonNode, NotJson, parse

_REST_OF_LINE = re.compile(r"[ \t]*(?:/\*[^\r\n]*?\*/[ \t]*)*(?://[^\r\n]*)?(?=[\r\n])")
"""Spaces and comments to the end of the line, where nothing else stands there: they belong to what is before them."""


def read_json(text: str) -> dict[str, Any]:
    """What the text says; an empty one says nothing. Raises ``NotJson``."""
    try:
        value = json.loads(text)  # most files have no comments, and the largest are written by programs
    except (ValueError, RecursionError):
        node = parse(text)
        value = {} if node is None else node.value
    if not isinstance(value, dict):
        raise NotJson("an object should stand there")
    return value


def put_json(text: str, path: Sequence[str], value: Any) -> str:
    """The text, which ``read_json`` takes, with ``value`` at ``path``; what is missing on the way is made. Raises
    ``NotJson`` where something else than an object stands in the way."""
    node = parse(text, list(path))
    if node is None:
        gap = "" if not text or text.endswith(("\n", "\r")) else _newline(text)
        return text + gap + _format(_nested(path, value), "", "  ", _newline(text)) + _newline(text)
    for depth, key in enumerate(path):
        if node.members is None:
            raise NotJson(f"{'.'.join(path[:depth]) or 'the whole'} should be an object")
        member = node.member(key)
        if member is None:
            return _insert(text, node, key, _nested(path[depth + 1 :], value))
        node = member.node
    assert member is not None
    return text[: node.begin] + _pretty_as(text, member, value) + text[node.end :]


def drop_json(text: str, path: Sequence[str]) -> str:
    """The text without the member at ``path``, which must be there."""
    node = parse(text, list(path))
    assert node is not None
    for key in path[:-1]:
        member = node.member(key)
        assert member is not None
        node = member.node
    return _remove(text, node, path[-1])


def _nested(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _insert(text: str, node: JsonNode, key: str, value: Any) -> str:
    """The object with one more member, the last, on a line of its own unless the object is all on one line."""
    assert node.members is not None
    if not node.members:
        return _insert_first(text, node, key, value)
    last = node.members[-1]
    comma = last.comma
    if not _begins_line(text, last.begin):
        behind = last.node.end if comma is None else comma + 1
        pair = _pair(key, value)
        return text[:behind] + (f", {pair}" if comma is None else f" {pair},") + text[behind:]
    indent, newline = _indent_of(text, last.begin), _newline(text)
    pair = newline + indent + _pair(key, value, indent, _unit(text), newline)
    if comma is not None:  # a trailing comma: the new member has one as well
        behind = _end_of_line(text, comma + 1)
        return text[:behind] + pair + "," + text[behind:]
    behind = _end_of_line(text, last.node.end)
    return text[: last.node.end] + "," + text[last.node.end : behind] + pair + text[behind:]


def _insert_first(text: str, node: JsonNode, key: str, value: Any) -> str:
    newline, outer = _newline(text), _indent_of(text, node.begin)
    indent = outer + _unit(text)
    behind = _end_of_line(text, node.begin + 1)
    closing = "" if "\n" in text[behind : node.end] or "\r" in text[behind : node.end] else newline + outer
    pair = _pair(key, value, indent, _unit(text), newline)
    return text[:behind] + newline + indent + pair + closing + text[behind:]


def _remove(text: str, node: JsonNode, key: str) -> str:
    """Removes what ``_insert`` adds: the member, one comma, and the member's own line break and indent."""
    member = node.member(key)
    assert member is not None
    assert node.members is not None
    before = [each for each in node.members if each.begin < member.begin]
    begin = member.begin
    if _begins_line(text, begin):
        begin = len(text[:begin].rstrip(" \t"))
        begin -= 2 if text.endswith("\r\n", 0, begin) else min(begin, 1)
    elif before:
        begin = len(text[:begin].rstrip(" \t"))
    end = member.node.end
    if member.comma is not None:
        return text[:begin] + text[end : member.comma] + text[member.comma + 1 :]
    if before:
        assert before[-1].comma is not None
        comma = before[-1].comma
        return text[:comma] + text[comma + 1 : begin] + text[end:]
    return text[:begin] + text[end:]


def _pair(key: str, value: Any, indent: str = "", unit: str = "", newline: str = "") -> str:
    shown = _format(value, indent, unit, newline) if newline else json.dumps(value, ensure_ascii=False)
    return f"{json.dumps(key, ensure_ascii=False)}: {shown}"


def _pretty_as(text: str, member: JsonMember, value: Any) -> str:
    """A value in the form its member has: over several lines if it begins one."""
    if not _begins_line(text, member.begin):
        return json.dumps(value, ensure_ascii=False)
    return _format(value, _indent_of(text, member.begin), _unit(text), _newline(text))


def _format(value: Any, indent: str, unit: str, newline: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return (newline + indent).join(lines)


def _newline(text: str) -> str:
    found = re.search(r"\r\n|\n|\r", text)
    return found[0] if found else "\n"


def _unit(text: str) -> str:
    """One level of indentation, as the first line that has any shows it."""
    whole = parse(text, [])
    outer = _indent_of(text, whole.begin) if whole is not None else ""
    found = re.search(r"[\r\n]([ \t]+)\"", text)
    return found[1].removeprefix(outer) or "  " if found else "  "


def _line_begin(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _begins_line(text: str, at: int) -> bool:
    begin = _line_begin(text, at)
    return begin > 0 and not text[begin:at].strip(" \t")


def _indent_of(text: str, at: int) -> str:
    line = text[_line_begin(text, at) : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _end_of_line(text: str, at: int) -> int:
    found = _REST_OF_LINE.match(text, at)
    return found.end() if found else at
