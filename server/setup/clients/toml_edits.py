"""Setting and removing one table of a TOML text. Every other byte stays as it was.

tomlkit keeps comments, but moves tables that stand apart from their siblings together, so lines are edited here.
Whoever calls reads the result again and compares: lines of a string that look like a table's head are found out then.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from typing import Any


class NotToml(ValueError):
    """The text is no TOML. The message says where, and quotes nothing: files of clients hold secrets."""


def read_toml(text: str) -> dict[str, Any]:
    """What the text says. Raises ``NotToml``."""
    try:
        return tomllib.loads(text)
    except ValueError as wrong:
        place = str(wrong).rpartition("(at ")[2].rstrip(")")
        raise NotToml(f"{place}: not TOML" if place.startswith(("line ", "end ")) else "not TOML") from None


def put_toml(text: str, path: Sequence[str], value: dict[str, Any]) -> str:
    """The text with the table ``value`` at ``path``: in its place, or at the end. Raises ``NotToml``, also where no
    table stands on the way."""
    content: Any = read_toml(text)
    for key in path[:-1]:
        content = content.get(key, {})
        if not isinstance(content, dict):
            raise NotToml(f"{key} should be a table")
    newline = "\r\n" if "\r\n" in text else "\n"
    block = _table(path, value, newline)
    if path[-1] not in content:
        gap = "" if not text or text.endswith("\n") else newline
        return text + gap + (newline if text.strip() else "") + block
    (begin, end), *below = _tables(text, path)
    for inner_begin, inner_end in reversed(below):
        text = text[:inner_begin] + text[inner_end:]
    return text[:begin] + block + text[end:]


def drop_toml(text: str, path: Sequence[str]) -> str:
    """The text without the table at ``path``, the tables in it, and the empty line before. Raises ``NotToml`` if it is
    not written as a table of its own."""
    for begin, end in reversed(_tables(text, path)):
        head = text[:begin]
        for blank in ("\n\r\n", "\n\n"):
            if head.endswith(blank):
                head = head[: len(head) - len(blank) + 1]
                break
        text = head + text[end:]
    return text


def _tables(text: str, path: Sequence[str]) -> list[tuple[int, int]]:
    """Where the table at ``path`` stands, and then those in it: from its head to its last line with a value."""
    found, at, current = [], 0, False
    for line in text.splitlines(keepends=True):
        words = line.strip()
        if words.startswith("["):
            current = _is_head(words, path)
            if current:
                found.append((at, at))
        at += len(line)
        if current and words and not words.startswith("#"):
            found[-1] = (found[-1][0], at)
    if not found:
        raise NotToml(f"{'.'.join(path)} is not written as a table of its own")
    return found


def _is_head(line: str, path: Sequence[str]) -> bool:
    """Whether a line is the head of the table at ``path``, or of one in it."""
    try:
        content: Any = tomllib.loads(line)
    except ValueError:
        return False
    for key in path:
        if not isinstance(content, dict) or key not in content:
            return False
        content = content[key]
    return True


def _table(path: Sequence[str], value: dict[str, Any], newline: str) -> str:
    head = f"[{'.'.join(map(_key, path))}]"
    return "".join(line + newline for line in (head, *(f"{_key(key)} = {_value(each)}" for key, each in value.items())))


def _key(key: str) -> str:
    is_bare = key.isascii() and key.replace("-", "a").replace("_", "a").isalnum()
    return key if is_bare else _value(key)


def _value(value: Any) -> str:
    """A value on one line. Strings, numbers and arrays of JSON are TOML as well."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False, default=str)
