"""Renames keys and values of frontmatter in place: no other byte changes. Pure.

Where ``edits`` writes a value's lines again, this replaces only the letters of the key, or of each value that changes:
blanks, quotes, brackets and comments around them stay, and renaming back gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vaults.markdown.frontmatter.edits import FrontmatterSpan, find_frontmatter, read_properties, update_properties
from vaults.markdown.frontmatter.entries import PropertyEntry, ScalarSpan, find_entries, find_scalars, not_editable
from vaults.markdown.frontmatter.yaml_writer import check_property, render_flow, render_key, render_string, to_canonical

ValueStep = Callable[[Any], Any]
"""Maps a scalar value to its replacement, or to itself to leave it."""


def rename_key(note: str, old: str, new: str) -> str:
    """The note with a key of its frontmatter renamed; unchanged unless it has the old key and not the new one. Raises
    ``InvalidArgument`` for an invalid key, ``Conflict`` for frontmatter that cannot be edited safely."""
    check_property(new, None)
    found = find_frontmatter(note)
    values = read_properties(note, found)
    if found is None or old not in values or new in values:
        return note
    inner = note[found.inner : found.close]
    entry = next((each for each in find_entries(inner) if each.name == old), None)
    if entry is None or not entry.head or entry.head.lstrip(" ").startswith("!"):
        raise not_editable(f"the key {old[:64]!r} is not written as `key: value`")
    start, end = _key_span(entry)
    quote = inner[start] if inner[start] in "'\"" else ""
    written = render_string(new, quote) if quote else render_key(new)
    wanted = {(new if key == old else key): value for key, value in values.items()}
    return _replace_verified(note, found, inner[:start] + written + inner[end:], wanted)


def _key_span(entry: PropertyEntry) -> tuple[int, int]:
    """The span of the key's letters, quotes included."""
    head = entry.head[:-1].rstrip(" \t")
    lead = len(head) - len(head.lstrip(" \t"))
    return entry.start + lead, entry.start + len(head)


def respell_values(note: str, key: str, step: ValueStep) -> str:
    """The note with ``step`` applied to the value of a key, or to each item of its list; items that become equal are
    merged. Raises ``InvalidArgument`` for what YAML cannot hold, ``Conflict``."""
    found = find_frontmatter(note)
    values = read_properties(note, found)
    if found is None or key not in values:
        return note
    old = values[key]
    new = [_apply_step(each, step) for each in old] if isinstance(old, list) else _apply_step(old, step)
    if to_canonical(new) == to_canonical(old):
        return note
    check_property(key, new)
    inner = note[found.inner : found.close]
    single = _drop_duplicates(old, new) if isinstance(old, list) else new
    spans = find_scalars(inner, key)
    if spans is None or single != new:
        return update_properties(note, {key: single})[0]
    parts, at = [], 0
    for span in spans:
        value = step(span.value)
        if to_canonical(value) != to_canonical(span.value):
            parts += [inner[at : span.start], _render_scalar(span, value)]
            at = span.end
    return _replace_verified(note, found, "".join([*parts, inner[at:]]), values | {key: new})


def _apply_step(value: Any, step: ValueStep) -> Any:
    return value if value is None or isinstance(value, list | dict) else step(value)


def _drop_duplicates(old: list[Any], new: list[Any]) -> list[Any]:
    """``new`` without the items that changed into the value of another."""
    kept: list[Any] = []
    whole = {to_canonical(each) for each, was in zip(new, old, strict=True) if to_canonical(each) == to_canonical(was)}
    for each, was in zip(new, old, strict=True):
        changed = to_canonical(each) != to_canonical(was)
        if changed and to_canonical(each) in whole:
            continue
        if changed:
            whole.add(to_canonical(each))
        kept.append(each)
    return kept


def _render_scalar(span: ScalarSpan, value: Any) -> str:
    if isinstance(value, str) and not span.flow:
        return render_string(value, span.quote)
    return render_flow(value, span.quote if isinstance(value, str) else "")


def _replace_verified(note: str, found: FrontmatterSpan, inner: str, wanted: dict[str, Any]) -> str:
    """The note with ``inner`` as its frontmatter, after checking that it reads as ``wanted``."""
    new = note[: found.inner] + inner + note[found.close :]
    if to_canonical(read_properties(new, find_frontmatter(new))) != to_canonical(wanted):
        raise not_editable("other values would change with it")
    return new
