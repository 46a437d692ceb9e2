"""Tags in the text and in frontmatter, and other frontmatter that is a name or a list of names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vaults.markdown.lines import iter_matches
from vaults.markdown.link import Link

# What Obsidian takes for a tag, except that general punctuation and ASCII's, but for slash and dash, end it.
# The `#` comes first so that the search for it runs in C; a look-behind checks what may stand before it.
TAG = re.compile(
    r"#(?<![^\s(,;]#)([^\s\x00-\x20!\"#$%&'()*+,.:;<=>?@\[\\\]^`{|}~\u2000-\u200c\u200e-\u206f\u2e00-\u2e7f]++)"
)


def find_inline_tags(visible: str, links: Sequence[Link]) -> list[str]:
    """The tags in the text outside links, as written, without ``#``. ``visible`` begins with an added line ending."""
    if "#" not in visible:
        return []
    if not links:
        return [match[1].strip("/") for match in iter_matches(TAG, visible) if is_tag(match[1])]
    return [match[1].strip("/") for match in _iter_tags(visible, links)]


def find_tag_spans(visible: str, links: Sequence[Link]) -> list[tuple[int, int]]:
    """Where the tags of ``find_inline_tags`` stand in the note, without ``#``, with all slashes."""
    return [(match.start(1) - 1, match.end(1) - 1) for match in _iter_tags(visible, links)]


def _iter_tags(visible: str, links: Sequence[Link]) -> Iterator[re.Match[str]]:
    at, last = 0, len(links)
    for match in iter_matches(TAG, visible):
        offset = match.start() - 1
        while at < last and links[at].end <= offset:
            at += 1
        if (at == last or links[at].start > offset) and is_tag(match[1]):
            yield match


def is_tag(word: str) -> bool:
    """Whether a word after ``#`` is a tag. A number is not: ``#12`` is an issue."""
    return not word.replace("/", "").isdigit() and word.strip("/") != ""


def parse_tags(value: Any) -> list[str]:
    """Tags in frontmatter: a list, or text separated by commas or blanks, with ``#`` or without."""
    items = value if isinstance(value, list) else [value]
    words = [word for item in items if isinstance(item, str) for word in re.split(r"[,\s]+", item)]
    return [word for word in (word.lstrip("#").strip("/") for word in words) if word and is_tag(word)]


def parse_names(value: Any) -> list[str]:
    """A name or a list of names; a comma belongs to the name."""
    items = value if isinstance(value, list) else [value]
    found = [str(item).strip() for item in items if isinstance(item, str | int | float) and not isinstance(item, bool)]
    return [name for name in found if name]


def drop_case_duplicates(words: Iterable[str]) -> tuple[str, ...]:
    """Each word once, ignoring case, in its first spelling and order."""
    seen: dict[str, str] = {}
    for word in words:
        seen.setdefault(word.casefold(), word)
    return tuple(seen.values())
