"""Renames a tag throughout a note, with those nested below it: in the text and in frontmatter. Pure.

Only what counts as a tag is renamed: never a heading's ``#``, and nothing in code, comments, links or addresses.
"""

from __future__ import annotations

import re
from typing import Any

from vaults.markdown.frontmatter.renames import respell_values
from vaults.markdown.links import find_links
from vaults.markdown.scan import scan
from vaults.markdown.tags import TAG, find_tag_spans, is_tag

TAG_KEYS = ("tags", "tag")
"""Frontmatter keys that hold tags."""

_WORD = re.compile(r"[^,\s]+")


def is_valid_tag(tag: str) -> bool:
    """Whether ``tag``, without ``#``, is one tag that a note may hold."""
    found = TAG.fullmatch(f"#{tag}")
    return found is not None and is_tag(tag) and not tag.startswith("/") and not tag.endswith("/") and "//" not in tag


def rename_tag_in_note(note: str, old: str, new: str) -> str:
    """The note with ``#old`` renamed to ``#new`` and ``#old/x`` to ``#new/x``, ignoring the case of ``old``. Raises
    ``Conflict`` for frontmatter that cannot be edited safely."""
    parts = old.lower().split("/")
    text = _rename_in_text(note, parts, new)
    for key in TAG_KEYS:
        text = respell_values(text, key, lambda value: _rename_in_value(value, parts, new))
    return text


def _rename_in_text(note: str, parts: list[str], new: str) -> str:
    if "#" not in note:
        return note
    found = scan(note)
    done, at = [], 0
    for start, end in find_tag_spans(found.visible, find_links(found, note)):
        word = note[start:end]
        if (other := rename_tag_word(word, parts, new)) != word:
            done += [note[at:start], other]
            at = end
    return "".join([*done, note[at:]])


def _rename_in_value(value: Any, parts: list[str], new: str) -> Any:
    if not isinstance(value, str):
        return value
    return _WORD.sub(lambda match: _rename_marked(match[0], parts, new), value)


def _rename_marked(word: str, parts: list[str], new: str) -> str:
    bare = word.lstrip("#")
    return word[: len(word) - len(bare)] + rename_tag_word(bare, parts, new) if bare and is_tag(bare) else word


def rename_tag_word(word: str, parts: list[str], new: str) -> str:
    """A tag as written, without ``#``, with ``new`` in place of ``parts`` (lower case) if it begins with them."""
    bare = word.lstrip("/")
    own = bare.split("/")
    if [each.lower() for each in own[: len(parts)]] != parts:
        return word
    return word[: len(word) - len(bare)] + "/".join([new, *own[len(parts) :]])
