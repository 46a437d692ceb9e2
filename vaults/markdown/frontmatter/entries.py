"""Which lines of frontmatter belong to which key, and how they are written. Pure.

Positions come from a YAML parser, so quoting, folding and nesting cannot mislead; the text itself is only ever cut at
line ends. Offsets are in the block's inner text, as it stands in the note.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vaults.advice import Advice, tool_clause
from vaults.errors import Conflict
from vaults.markdown.encoding import to_lf_same_length
from vaults.markdown.frontmatter.values import parse_scalar

REFUSAL = "The frontmatter of this note cannot be edited by key"
BY_HAND = Advice(
    "nothing was changed",
    tool_clause(
        "read the note whole, correct the lines between the --- marks, and write it back with note_write, mode"
        " overwrite, and its etag",
        "note_write",
    ),
)

DEFAULT_STEP = 2
"""Blanks to indent a nested line by if the block shows no habit of its own."""

# What may follow a value on its line, or the colon if the value starts further down. A tag may stand there too.
_REST = re.compile(r"(?:[ \t]+![^ \t\n]*)?(?:[ \t]+[|>][-+0-9]{0,2})?([ \t]+#[^\n]*?)?[ \t]*\n")
_BLOCK_TEXT = frozenset("|>")
_BLANKS = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class ValueStyle:
    """How a value is written, so that another can be written like it."""

    quote: str = ""
    """``'`` or ``"``; empty: plain where that is safe."""
    flow: bool = False
    """``[a, b]`` and ``{a: b}`` instead of a line for each item."""
    step: int = DEFAULT_STEP
    """Blanks by which a list's dash or a mapping's key is indented below its key."""
    gap: str = " "
    """Blanks after a list's dash."""


@dataclass(frozen=True, slots=True)
class PropertyEntry:
    """A key and its lines ``[start, end)``. Comment and blank lines around a value belong to no entry: they stay."""

    name: str
    start: int
    end: int
    head: str
    """The beginning of the key's line, the colon included; empty for the ``? key`` form."""
    gap: str
    """Blanks between the colon and a value on its line."""
    comment: str
    """At the end of the key's line or of the value's, with the blanks before it."""
    style: ValueStyle | None
    """None if the value is no list or mapping, or an empty one: then only its quotes show a habit."""
    quote: str
    items: tuple[tuple[int, int], ...]
    """The lines of each item, for a list with a line for each."""


@dataclass(frozen=True, slots=True)
class ScalarSpan:
    """A scalar value as written at ``[start, end)``."""

    start: int
    end: int
    value: Any  # its text, or what an unquoted one stands for
    quote: str
    flow: bool  # it stands between brackets


def find_entries(inner: str) -> list[PropertyEntry]:
    """The keys of the block in order. Raises ``Conflict`` if it is not a plain mapping with a line for each key."""
    view = to_lf_same_length(inner)
    return [_entry(view, key, value) for key, value in _pairs(inner)]


def find_scalars(inner: str, name: str) -> list[ScalarSpan] | None:
    """The value of a key, or the scalar items of its list, without empty ones. None if any is block text or has a tag:
    then the value can only be rewritten as a whole. Raises ``Conflict`` as ``find_entries``."""
    value = next((value for key, value in _pairs(inner) if key.value == name), None)
    if value is None or type(value).__name__ == "MappingNode":
        return []
    flow = bool(value.flow_style) if isinstance(value.value, list) else False
    found = []
    for node in value.value if isinstance(value.value, list) else [value]:
        start, end = node.start_mark.index, node.end_mark.index
        if isinstance(node.value, list) or start == end:
            continue
        if node.style in _BLOCK_TEXT or inner[start] == "!":
            return None
        quote = _quote_of(node)
        found.append(ScalarSpan(start, end, node.value if quote else parse_scalar(node.value), quote, flow))
    return found


def _pairs(inner: str) -> list[tuple[Any, Any]]:
    """The nodes of all keys and their values."""
    root = _compose(inner)
    if root is None:
        return []
    if type(root).__name__ != "MappingNode" or root.flow_style:
        raise not_editable("it is not written as one `key: value` a line")
    if any(node.anchor for node in _nodes(root)):
        raise not_editable("it holds an anchor (`&name`)")
    if any(isinstance(key.value, list) for key, _ in root.value):
        raise not_editable("it holds a key that is no plain word")
    return list(root.value)


def not_editable(reason: str) -> Conflict:
    return Conflict(f"{REFUSAL}: {reason}", hint=BY_HAND)


def _compose(inner: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).compose(inner)
    except (YAMLError, ValueError, RecursionError):
        raise not_editable("it is no valid YAML") from None


def _nodes(node: Any) -> Iterator[Any]:
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node.value, list):
            waiting += [part for entry in node.value for part in (entry if isinstance(entry, tuple) else (entry,))]


def _entry(view: str, key: Any, value: Any) -> PropertyEntry:
    start = view.rfind("\n", 0, key.start_mark.index) + 1
    colon = _blanks(view, key.end_mark.index)
    if view[start : key.start_mark.index].strip(" ") or view[colon] != ":":  # the `? key` form
        return PropertyEntry(
            name=key.value,
            start=start,
            end=_line_end(view, _last(view, value, key.end_mark.index)),
            head="",
            gap=" ",
            comment="",
            style=None,
            quote="",
            items=(),
        )
    colon += 1
    below, last = _is_below(value), _last(view, value, colon)
    if value.start_mark.index == value.end_mark.index:  # a missing value is marked after the comment
        last = colon
    rest = _REST.match(view, colon if below else last)
    if rest is None:
        raise not_editable(f"the line of {key.value[:64]!r} holds more than its value")
    before = "" if below else view[colon : value.start_mark.index]
    return PropertyEntry(
        name=key.value,
        start=start,
        end=_line_end(view, last),
        head=view[start:colon],
        gap=before if before and not before.strip(" \t") else " ",
        comment=rest[1] or before.partition("\n")[0].rstrip(),
        style=_style_of(view, key.start_mark.index - start, value),
        quote=_quote_of(value),
        items=_find_items(view, value),
    )


def _blanks(view: str, at: int) -> int:
    """The offset after the blanks at ``at``."""
    found = _BLANKS.match(view, at)
    return found.end() if found else at


def _is_below(value: Any) -> bool:
    """Whether the value's text starts below the key's line, as that of block lists, mappings and text does."""
    return not bool(value.flow_style) if isinstance(value.value, list) else value.style in _BLOCK_TEXT


def _last(view: str, node: Any, least: int) -> int:
    """Where the text of ``node`` ends, without the comments and blank lines that the parser counts as part of it."""
    if isinstance(node.value, list) and not node.flow_style:
        parts = [part for entry in node.value[-1:] for part in (entry if isinstance(entry, tuple) else (entry,))]
        for part in parts:
            least = max(least, _last(view, part, least))
        return least
    start: int = node.start_mark.index
    end: int = node.end_mark.index
    if not isinstance(node.value, list) and node.style in _BLOCK_TEXT:
        body = view[start:end]
        keeps = "+" in body.partition("\n")[0].partition("#")[0]
        end = start + len(body.removesuffix("\n") if keeps else body.rstrip(" \t\n"))
    return max(least, end)


def _line_end(view: str, at: int) -> int:
    """The offset after the line that holds ``at``."""
    found = view.find("\n", at)
    return found + 1 if found >= 0 else len(view)


def _find_items(view: str, value: Any) -> tuple[tuple[int, int], ...]:
    """The lines of each item. Comments above an item belong to it, except those above the first."""
    at = value.start_mark.index
    if type(value).__name__ != "SequenceNode" or view[at] != "-":
        return ()
    at, spans = view.rfind("\n", 0, at) + 1, []
    for item in value.value:
        end = _line_end(view, _last(view, item, item.start_mark.index))
        spans.append((at, end))
        at = end
    return tuple(spans)


def _style_of(view: str, column: int, value: Any) -> ValueStyle | None:
    """The style of a list or mapping. ``column``: where its key starts."""
    at = value.start_mark.index
    if not isinstance(value.value, list) or not value.value or view[at] == "!":
        return None
    if value.flow_style:
        return ValueStyle(quote=_quote_of(value), flow=True)
    gap = _blanks(view, at + 1) - at - 1 if view[at] == "-" else 1
    step = at - view.rfind("\n", 0, at) - 1 - column
    return ValueStyle(quote=_quote_of(value), step=max(step, 0), gap=" " * gap if 0 < gap < 8 else " ")


def _quote_of(node: Any) -> str:
    """The quotes of a text, of a list's first item, or of a mapping's first value."""
    while isinstance(node.value, list) and node.value:
        first = node.value[0]
        node = first[1] if isinstance(first, tuple) else first
    style = getattr(node, "style", None)
    return style if isinstance(style, str) and style in ("'", '"') else ""
