"""Edits frontmatter by key: only the lines of the named keys change. Pure.

Comments, order, quotes, indents, blank lines and line endings of everything else stay byte for byte. An unchanged value
is not written again, and of a list with a line for each item only the changed items are. The result is parsed before it
is returned: an edit that would disturb another value is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vaults.errors import InvalidArgument, TooLarge
from vaults.markdown.encoding import dominant_newline, to_lf_same_length
from vaults.markdown.frontmatter.entries import PropertyEntry, ValueStyle, find_entries, not_editable
from vaults.markdown.frontmatter.parser import MAX_CHARACTERS, find_body_start, parse_frontmatter
from vaults.markdown.frontmatter.yaml_writer import check_property, render_block, render_entry, render_key, to_canonical

MAX_KEYS = 100
"""Keys one call may set or unset."""

_LINE_ENDING = re.compile(r"\r\n|\r|\n")
_INDENTED_COMMENT = re.compile(r"(?:[ \t]*\n)*[ \t]+#")


@dataclass(frozen=True, slots=True)
class FrontmatterSpan:
    """Offsets in the note: after the opening line, before the closing line, after the closing line."""

    inner: int
    close: int
    body: int


def update_properties(
    text: str,
    set: Mapping[str, Any],  # noqa: A002 - as the tool's argument is named
    unset: Sequence[str] = (),
    *,
    only_if_missing: bool = False,
) -> tuple[str, list[str]]:
    """The note with its frontmatter changed, and warnings. New keys go to the end; a note without frontmatter gets it.

    ``set`` holds JSON values; keys are plain names, dots included. ``only_if_missing`` leaves existing keys, even empty
    ones, as they are. A block that loses its last key is removed, unless it holds comments. Raises ``InvalidArgument``
    for values YAML cannot hold, ``Conflict`` for frontmatter that cannot be edited safely, ``TooLarge``.
    """
    _check_request(set, unset)
    found = find_frontmatter(text)
    old = read_properties(text, found)
    warnings = [f"{key!r} was not there." for key in unset if key not in old]
    if only_if_missing:
        warnings += [f"{key!r} was there and was kept." for key in set if key in old]
        set = {key: value for key, value in set.items() if key not in old}  # noqa: A001
    changes = {
        key: value for key, value in set.items() if key not in old or to_canonical(old[key]) != to_canonical(value)
    }
    gone = [key for key in unset if key in old]
    if not changes and not gone:
        return text, warnings
    warnings += _warn_of_namesakes(changes, old, gone)
    new = _rewrite(text, found, changes, gone, old) if found else _add_frontmatter(text, changes)
    wanted = {key: value for key, value in (old | changes).items() if key not in gone}
    if to_canonical(read_properties(new, find_frontmatter(new))) != to_canonical(wanted):
        raise not_editable("other values would change with it")
    return new, warnings


def _check_request(set_: Mapping[str, Any], unset: Sequence[str]) -> None:
    if len(set_) + len(unset) > MAX_KEYS:
        raise InvalidArgument("set", f"and unset may name {MAX_KEYS} keys at most")
    for key, value in set_.items():
        check_property(key, value)
    if both := [key for key in unset if key in set_]:
        raise InvalidArgument("unset", f"names {both[0]!r}, which is set as well")


def find_frontmatter(text: str) -> FrontmatterSpan | None:
    """Where the frontmatter stands; None in a note without."""
    view = to_lf_same_length(text)
    body = find_body_start(text, f"\n{view}\n")
    if not body:
        return None
    return FrontmatterSpan(view.index("\n") + 1, view.rindex("\n", 0, body - 1) + 1, body)


def read_properties(text: str, found: FrontmatterSpan | None) -> dict[str, Any]:
    """The values of the frontmatter. Raises ``Conflict`` if they cannot be read for sure."""
    if found is None:
        return {}
    loaded = parse_frontmatter(text[: found.body])
    if loaded.error:
        raise not_editable(loaded.error)
    return loaded.values


def _warn_of_namesakes(changes: Mapping[str, Any], old: Mapping[str, Any], gone: Sequence[str]) -> list[str]:
    """Warn of keys that differ in case alone, as when an agent writes ``Tags`` and the note has ``tags``."""
    spelt = {key.casefold(): key for key in old if key not in gone}
    pairs = [(key, spelt.get(key.casefold(), key)) for key in changes if key not in old]
    return [f"{key!r} was added beside {other!r}." for key, other in pairs if key != other]


def _add_frontmatter(text: str, changes: Mapping[str, Any]) -> str:
    newline = "\n" if text.startswith("\n") else dominant_newline(text)  # a \r before that \n would become one with it
    return f"---{newline}{_render_entries('', changes, ValueStyle(), newline)}---{newline}{text}"


def _render_entries(indent: str, values: Mapping[str, Any], style: ValueStyle, newline: str) -> str:
    lines = [
        line for key, value in values.items() for line in render_entry(f"{indent}{render_key(key)}:", value, style)
    ]
    return "".join(line + newline for line in lines)


def _rewrite(
    text: str, found: FrontmatterSpan, changes: Mapping[str, Any], gone: Sequence[str], old: Mapping[str, Any]
) -> str:
    inner = text[found.inner : found.close]
    present = find_entries(inner)
    if sorted(entry.name for entry in present) != sorted(old):
        raise not_editable("its keys are not told apart the same way by all readers")
    habit = _usual_style(present)
    parts, at = [], 0
    for entry in present:
        if entry.name not in changes and entry.name not in gone:
            continue
        parts.append(inner[at : entry.start])
        at = entry.end
        if entry.name in changes:
            parts.append(_rewrite_entry(inner, entry, old[entry.name], changes[entry.name], habit))
    parts.append(inner[at:])
    indent = _indent_of(inner, present[0]) if present else ""
    added = {key: value for key, value in changes.items() if key not in old}
    parts.append(_render_entries(indent, added, habit, _line_ending(text, 0)))
    return _join_parts(text, found, "".join(parts))


def _usual_style(present: Sequence[PropertyEntry]) -> ValueStyle:
    """The style of the block's lists, for new ones. New text is plain."""
    styles = [entry.style for entry in present if entry.style and (entry.items or entry.style.flow)]
    return replace(styles[0], quote="") if styles else ValueStyle()


def _join_parts(text: str, found: FrontmatterSpan, inner: str) -> str:
    if len(inner) > MAX_CHARACTERS:
        raise TooLarge(f"The frontmatter would have more than {MAX_CHARACTERS} characters.")
    body = text[found.body :]
    if not inner.strip() and find_frontmatter(body) is None:  # a second block would become the first
        return body
    return text[: found.inner] + inner + text[found.close :]


def _rewrite_entry(inner: str, entry: PropertyEntry, old: Any, new: Any, habit: ValueStyle) -> str:
    """The lines of an entry with a new value."""
    newline = _line_ending(inner, entry.start)
    if entry.items and isinstance(new, list) and new:
        return _rewrite_list(inner, entry, old, new, newline)
    style = entry.style or replace(habit, quote=entry.quote)
    if isinstance(new, str) and not style.quote and _INDENTED_COMMENT.match(to_lf_same_length(inner[entry.end :])):
        style = replace(style, quote='"')  # text on lines of its own would take the comment in
    head = entry.head or f"{_indent_of(inner, entry)}{render_key(entry.name)}:"
    first, *below = render_entry(head, new, style, entry.gap)
    return newline.join([first + entry.comment, *below]) + newline


def _rewrite_list(inner: str, entry: PropertyEntry, old: Sequence[Any], new: Sequence[Any], newline: str) -> str:
    """The lines of a list with a line for each item: unchanged items at its beginning and its end keep theirs."""
    was, now = [to_canonical(item) for item in old], [to_canonical(item) for item in new]
    shorter = min(len(was), len(now))
    head = next((n for n in range(shorter) if was[n] != now[n]), shorter)
    tail = next((n for n in range(shorter - head) if was[-1 - n] != now[-1 - n]), shorter - head)
    first = entry.items[0][0]
    dash = inner.index("-", first)
    start = entry.items[head][0] if head < len(was) else entry.end
    end = entry.items[len(was) - tail][0] if tail else entry.end
    middle = new[head : len(now) - tail]
    lines = render_block(middle, entry.style or ValueStyle(), inner[first:dash]) if middle else []
    return inner[entry.start : start] + "".join(line + newline for line in lines) + inner[end : entry.end]


def _indent_of(inner: str, entry: PropertyEntry) -> str:
    line = inner[entry.start : entry.end]
    return line[: len(line) - len(line.lstrip(" "))]


def _line_ending(text: str, start: int) -> str:
    """The line ending of the line at ``start``."""
    found = _LINE_ENDING.search(text, start)
    return found[0] if found else "\n"
