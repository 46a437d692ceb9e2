"""A tag called otherwise throughout a note, those below it too: in the text and in frontmatter. Pure.

What is renamed is what counts as a tag: never a heading's ``#``, and nothing in code, comments, links or addresses.
"""

from __future__ import annotations

import re
from typing import Any

from vaults.markdown.frontmatter.renames import respelt
from vaults.markdown.links import links
from vaults.markdown.scan import scan
from vaults.markdown.tags import TAG, is_tag, tag_spans

KEYS = ("tags", "tag")
"""Where frontmatter holds tags."""

_WORD = re.compile(r"[^,\s]+")


def is_whole(tag: str) -> bool:
    """Whether a text, without ``#``, is one tag as a note may hold it."""
    found = TAG.fullmatch(f"#{tag}")
    return found is not None and is_tag(tag) and not tag.startswith("/") and not tag.endswith("/") and "//" not in tag


def renamed_tag(note: str, old: str, new: str) -> str:
    """The note with ``#old`` as ``#new`` and ``#old/x`` as ``#new/x``, whatever the case of ``old``. Raises
    ``Conflict`` for frontmatter that cannot be edited safely."""
    parts = old.lower().split("/")
    text = _in_text(note, parts, new)
    for key in KEYS:
        text = respelt(text, key, lambda value: _in_value(value, parts, new))
    return text


def _in_text(note: str, parts: list[str], new: str) -> str:
    if "#" not in note:
        return note
    found = scan(note)
    done, at = [], 0
    for start, end in tag_spans(found.visible, links(found, note)):
        word = note[start:end]
        if (other := renamed_word(word, parts, new)) != word:
            done += [note[at:start], other]
            at = end
    return "".join([*done, note[at:]])


def _in_value(value: Any, parts: list[str], new: str) -> Any:
    if not isinstance(value, str):
        return value
    return _WORD.sub(lambda match: _renamed(match[0], parts, new), value)


def _renamed(word: str, parts: list[str], new: str) -> str:
    bare = word.lstrip("#")
    return word[: len(word) - len(bare)] + renamed_word(bare, parts, new) if bare and is_tag(bare) else word


def renamed_word(word: str, parts: list[str], new: str) -> str:
    """A tag as written, without ``#``, with ``new`` for the parts it begins with; ``parts`` are in lower case."""
    bare = word.lstrip("/")
    own = bare.split("/")
    if [each.lower() for each in own[: len(parts)]] != parts:
        return word
    return word[: len(word) - len(bare)] + "/".join([new, *own[len(parts) :]])
