"""The other names a note goes by, in its frontmatter. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vaults.errors import InvalidArgument
from vaults.markdown import parser as markdown
from vaults.markdown.frontmatter.edits import updated
from vaults.markdown.link_resolution import folded


def added(text: str, names: Iterable[str]) -> str:
    """The note with these aliases as well, as far as it does not go by them already. Raises ``Conflict`` for
    frontmatter that cannot be edited safely."""
    note = markdown.skimmed(text)
    known = {folded(each) for each in (note.title or "", *note.aliases)}
    fresh = [each for each in dict.fromkeys(names) if folded(each) not in known]
    return _written(text, note.frontmatter, [*_held(note.frontmatter), *fresh]) if fresh else text


def removed(text: str, name: str) -> str:
    """The note without an alias, whatever its case. Raises ``InvalidArgument`` where it has none such."""
    note = markdown.skimmed(text)
    held = _held(note.frontmatter)
    left = [each for each in held if folded(str(each)) != folded(name)]
    if len(left) == len(held):
        said = ", ".join(note.aliases[:10]) or "none"
        raise InvalidArgument("alias", f"is not among the note's aliases: {said}")
    return _written(text, note.frontmatter, left)


def _key(frontmatter: dict[str, Any]) -> str:
    """Under which key the note's aliases stand."""
    return "alias" if "alias" in frontmatter and "aliases" not in frontmatter else "aliases"


def _held(frontmatter: dict[str, Any]) -> list[Any]:
    value = frontmatter.get(_key(frontmatter))
    return list(value) if isinstance(value, list) else [value] if value not in (None, "") else []


def _written(text: str, frontmatter: dict[str, Any], names: list[Any]) -> str:
    key = _key(frontmatter)
    new, _ = updated(text, {key: names}) if names else updated(text, {}, [key])
    return new
