"""Writes a JSON value as YAML that every reader takes for the same value. Pure.

YAML 1.1 and 1.2 differ in what an unquoted word means (``no``, ``1:30``, ``0o17``). Text that either would read as
something else is quoted, and so is what starts a construct: ``[[link]]``, ``{{x}}``, ``#tag``, ``@name``. A date stays
plain, ``2026-01-02``, as every program writes it.
"""

from __future__ import annotations

import json
import math
import re
from datetime import date
from typing import Any

from vaults.errors import InvalidArgument
from vaults.markdown.frontmatter.entries import DEFAULT_STEP, ValueStyle
from vaults.markdown.frontmatter.values import MAX_DEPTH, parse_scalar

MAX_VALUE = 10_240
"""Bytes of a value, as JSON."""

MAX_KEY = 200
"""Characters of a key."""

_LARGEST = 10**18
"""Whole numbers from here on are read as text or as fractions by some programs."""

_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", ".inf", ".nan", "=", "<<"))
# Signs, digits and what may stand in a number, a time or a date of any YAML: not surely text.
_NUMERIC = re.compile(r"[-+.0-9][-+.,:_0-9A-Fa-fxXoOTtZz ]*")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PLAIN_START = re.compile(r"[^\s\-?:,\[\]{}#&*!|>'\"%@`]")
_CONSTRUCT = re.compile(r":(?:\s|$)|\s#|\t|\s$")
_FLOW_CONSTRUCT = re.compile(r"[,\[\]{}:?]")  # PyYAML takes a question mark anywhere in a flow for that of a key
_UNPRINTABLE = re.compile("[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_BLOCK_TEXT = re.compile(r"\A[ \n]|^\t|[ \t]$|\n\n\Z", re.MULTILINE)


def check_property(key: str, value: Any) -> Any:
    """``value`` if frontmatter can hold it. Raises ``InvalidArgument`` that names the key."""
    _check_key(key)
    _check(key, value, MAX_DEPTH - 1)
    if len(json.dumps(value, ensure_ascii=False).encode()) > MAX_VALUE:
        raise InvalidArgument("set", f"has a value longer than {MAX_VALUE} bytes under {key!r}")
    return value


def to_canonical(value: Any) -> str:
    """A text that is equal for equal values; ``1``, ``True`` and ``1.0`` differ."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True)


def _check_key(key: Any) -> None:
    if not isinstance(key, str) or not key.strip() or len(key) > MAX_KEY or not key.isprintable():
        raise InvalidArgument("set", f"has a key that is not one line of 1 to {MAX_KEY} printable characters")


def _check(key: str, value: Any, depth: int) -> None:
    if isinstance(value, list | dict):
        if depth == 0:
            raise InvalidArgument("set", f"is nested deeper than {MAX_DEPTH} under {key!r}")
        for name in value if isinstance(value, dict) else ():
            _check_key(name)
        for item in value.values() if isinstance(value, dict) else value:
            _check(key, item, depth - 1)
    elif problem := _problem(value):
        raise InvalidArgument("set", f"has {problem} (under {key!r})")


def _problem(value: Any) -> str | None:
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        return "a lone surrogate, which no file can hold" if _SURROGATE.search(value) else None
    if isinstance(value, int | float):
        sound = abs(value) < _LARGEST if isinstance(value, int) else math.isfinite(value)
        return None if sound else "a number that not every reader can hold; give it as text"
    return "something that JSON cannot hold"


def render_key(key: str) -> str:
    return (
        key if _is_plain(key, flow=True) and parse_scalar(key) == key and not _DATE.fullmatch(key) else _quote(key, '"')
    )


def render_entry(head: str, value: Any, style: ValueStyle, gap: str = " ") -> list[str]:
    """A key's lines. ``head``: its line up to the colon, with indent; ``gap`` goes before a value on that line."""
    indent = head[: len(head) - len(head.lstrip(" "))]
    if isinstance(value, list | dict) and value and not style.flow:
        step = style.step if isinstance(value, list) else style.step or DEFAULT_STEP
        return [head, *render_block(value, style, indent + " " * step)]
    if isinstance(value, str) and not style.quote and _is_block_text(value):
        lines = value.removesuffix("\n").split("\n")
        first = head + (" |" if value.endswith("\n") else " |-")
        return [first, *(indent + " " * DEFAULT_STEP + line if line else "" for line in lines)]
    written = (
        render_flow(value, style.quote) if isinstance(value, list | dict) else _render_inline(value, style.quote, "")
    )
    return [head + gap + written if written else head]


def _is_block_text(value: str) -> bool:
    """Whether a text of several lines reads back the same when written below a ``|``."""
    several = "\n" in value.removesuffix("\n")
    return several and not _NO_BLOCK_TEXT.search(value) and not _UNPRINTABLE.search(value.replace("\n", ""))


def render_block(value: Any, style: ValueStyle, indent: str) -> list[str]:
    """The lines of a non-empty list or mapping, each indented by ``indent``."""
    lines = []
    for name, item in value.items() if isinstance(value, dict) else ((None, item) for item in value):
        lead = f"{indent}{render_key(name)}: " if name is not None else f"{indent}-{style.gap}"
        if not isinstance(item, list | dict):
            lines.append((lead + _render_inline(item, style.quote)).rstrip(" "))
        elif not item or (isinstance(item, list) and name is None):
            lines.append(lead + render_flow(item, style.quote))
        elif name is None:
            inner = render_block(item, style, indent + " " * (1 + len(style.gap)))
            lines += [lead + inner[0].lstrip(" "), *inner[1:]]
        else:
            lines += [lead.rstrip(" "), *render_block(item, style, indent + " " * (style.step or DEFAULT_STEP))]
    return lines


def render_flow(value: Any, quote: str) -> str:
    """A value on one line: ``[a, b]``, ``{a: b}``."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{render_key(name)}: {render_flow(item, quote)}' for name, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(render_flow(item, quote) for item in value)}]"
    if isinstance(value, str):
        return render_string(value, quote) if quote or _is_plain(value, flow=True) else _quote(value, '"')
    return _render_inline(value, quote)


def _render_inline(value: Any, quote: str, empty: str = "null") -> str:
    """A scalar value, outside ``[]`` and ``{}``."""
    if value is None:
        return empty
    if isinstance(value, str):
        return render_string(value, quote)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    written = repr(value)
    return written.replace("e", ".0e") if "e" in written and "." not in written else written


def render_string(value: str, quote: str = "") -> str:
    """Text on one line, in the given quotes, or plain if every reader takes it for this text."""
    if not quote and _is_plain(value, flow=False):
        return value
    return _quote(value, quote or '"')


def _is_plain(value: str, *, flow: bool) -> bool:
    if _DATE.fullmatch(value):
        return _is_date(value)
    return not (
        not _PLAIN_START.match(value)
        or _CONSTRUCT.search(value)
        or _UNPRINTABLE.search(value)
        or (flow and _FLOW_CONSTRUCT.search(value))
        or value.lower() in _WORDS
        or _NUMERIC.fullmatch(value)
        or parse_scalar(value) != value
        or value.startswith("...")
    )


def _is_date(value: str) -> bool:
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _quote(value: str, quote: str) -> str:
    if quote == "'" and not _UNPRINTABLE.search(value):
        return "'" + value.replace("'", "''") + "'"
    return _UNPRINTABLE.sub(_escape, json.dumps(value, ensure_ascii=False))


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
