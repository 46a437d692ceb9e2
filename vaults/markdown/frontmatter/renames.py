"""Keys and values of frontmatter spelled anew where they stand: no other byte changes. Pure.

Where ``properties`` writes a value's lines anew, this replaces only the letters of the key, or of each value that
changes: blanks, quotes, brackets and comments around them stay, and a step back gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vaults.markdown.frontmatter.edits import Inner, inner_of, updated, values_of
from vaults.markdown.frontmatter.entries import Entry, Scalar, entries, refused, scalars
from vaults.markdown.frontmatter.yaml_writer import canonical, checked, flow, text, written_key

Step = Callable[[Any], Any]
"""From a value that holds no others to what takes its place: the same to leave it."""


def renamed(note: str, old: str, new: str) -> str:
    """The note with a key of its frontmatter called otherwise; it has the first and not the second. Raises
    ``InvalidArgument`` for what can be no key, ``Conflict`` for frontmatter that cannot be edited safely."""
    checked(new, None)
    found = inner_of(note)
    values = values_of(note, found)
    if found is None or old not in values or new in values:
        return note
    inner = note[found.inner : found.close]
    entry = next((each for each in entries(inner) if each.name == old), None)
    if entry is None or not entry.head or entry.head.lstrip(" ").startswith("!"):
        raise refused(f"the key {old[:64]!r} is not written as `key: value`")
    start, end = _key(entry)
    quote = inner[start] if inner[start] in "'\"" else ""
    written = text(new, quote) if quote else written_key(new)
    wanted = {(new if key == old else key): value for key, value in values.items()}
    return _proved(note, found, inner[:start] + written + inner[end:], wanted)


def _key(entry: Entry) -> tuple[int, int]:
    """Where the key's letters stand, quotes included."""
    head = entry.head[:-1].rstrip(" \t")
    lead = len(head) - len(head.lstrip(" \t"))
    return entry.start + lead, entry.start + len(head)


def respelt(note: str, key: str, step: Step) -> str:
    """The note with the value of a key, or each item of its list, put through ``step``; items that come to be alike
    become one. Raises ``InvalidArgument`` for what YAML cannot hold, ``Conflict``."""
    found = inner_of(note)
    values = values_of(note, found)
    if found is None or key not in values:
        return note
    old = values[key]
    new = [_stepped(each, step) for each in old] if isinstance(old, list) else _stepped(old, step)
    if canonical(new) == canonical(old):
        return note
    checked(key, new)
    inner = note[found.inner : found.close]
    single = _distinct(old, new) if isinstance(old, list) else new
    spots = scalars(inner, key)
    if spots is None or single != new:
        return updated(note, {key: single})[0]
    parts, at = [], 0
    for spot in spots:
        value = step(spot.value)
        if canonical(value) != canonical(spot.value):
            parts += [inner[at : spot.start], _written(spot, value)]
            at = spot.end
    return _proved(note, found, "".join([*parts, inner[at:]]), values | {key: new})


def _stepped(value: Any, step: Step) -> Any:
    return value if value is None or isinstance(value, list | dict) else step(value)


def _distinct(old: list[Any], new: list[Any]) -> list[Any]:
    """Without the items that were changed into what another is."""
    kept: list[Any] = []
    whole = {canonical(each) for each, was in zip(new, old, strict=True) if canonical(each) == canonical(was)}
    for each, was in zip(new, old, strict=True):
        changed = canonical(each) != canonical(was)
        if changed and canonical(each) in whole:
            continue
        if changed:
            whole.add(canonical(each))
        kept.append(each)
    return kept


def _written(spot: Scalar, value: Any) -> str:
    if isinstance(value, str) and not spot.flow:
        return text(value, spot.quote)
    return flow(value, spot.quote if isinstance(value, str) else "")


def _proved(note: str, found: Inner, inner: str, wanted: dict[str, Any]) -> str:
    """The note with other lines between the marks, read back first."""
    new = note[: found.inner] + inner + note[found.close :]
    if canonical(values_of(new, inner_of(new))) != canonical(wanted):
        raise refused("other values would change with it")
    return new
