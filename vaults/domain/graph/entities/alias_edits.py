"""Editing a note's aliases in its frontmatter. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vaults.errors import InvalidArgument
from vaults.markdown import parser as markdown
from vaults.markdown.frontmatter.edits import update_properties
from vaults.markdown.link_resolution import fold_name


def add_aliases(text: str, names: Iterable[str]) -> str:
    """Add aliases that the note does not have yet. Raises ``Conflict`` for frontmatter that cannot be edited safely."""
    note = markdown.parse_outline(text)
    known = {fold_name(each) for each in (note.title or "", *note.aliases)}
    fresh = [each for each in dict.fromkeys(names) if fold_name(each) not in known]
    return _write_aliases(text, note.frontmatter, [*_read_aliases(note.frontmatter), *fresh]) if fresh else text


def remove_alias(text: str, name: str) -> str:
    """Remove an alias, whatever its case. Raises ``InvalidArgument`` if the note does not have it."""
    note = markdown.parse_outline(text)
    aliases = _read_aliases(note.frontmatter)
    left = [each for each in aliases if fold_name(str(each)) != fold_name(name)]
    if len(left) == len(aliases):
        existing = ", ".join(note.aliases[:10]) or "none"
        raise InvalidArgument("alias", f"is not among the note's aliases: {existing}")
    return _write_aliases(text, note.frontmatter, left)


def _find_key(frontmatter: dict[str, Any]) -> str:
    """The key of the note's aliases."""
    return "alias" if "alias" in frontmatter and "aliases" not in frontmatter else "aliases"


def _read_aliases(frontmatter: dict[str, Any]) -> list[Any]:
    value = frontmatter.get(_find_key(frontmatter))
    return list(value) if isinstance(value, list) else [value] if value not in (None, "") else []


def _write_aliases(text: str, frontmatter: dict[str, Any], names: list[Any]) -> str:
    key = _find_key(frontmatter)
    new, _ = update_properties(text, {key: names}) if names else update_properties(text, {}, [key])
    return new
