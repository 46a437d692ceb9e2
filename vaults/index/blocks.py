"""A note as blocks: what lies between two headings, in pieces of bounded size, each with a digest. Pure.

An edit changes the digests of the blocks it touches and of no other, so a note is reindexed block by block. Blocks that
are too long for that are split at lines chosen by their content: a line inserted at the top moves no border below it.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from vaults.index import passages
from vaults.index.passages import Passage

LONG = 16_384
"""Characters from which a block is split."""

SHORTEST = 2_048
"""Min characters of a part."""

SHORT = 700
"""Characters up to which stretches are joined: with the title above it, all that a passage holds."""

TINY = 200
"""Characters up to which sections of one level are joined."""

MANY, MAX_DIGESTS = 256 * 1024, 8_192
"""Characters of a note from which the digests of its blocks are remembered, and how many are, at most: 2 MB."""

SEPARATOR = " › "
"""Between the title of a note and the headings above a passage."""

_BORDER_EVERY = 2_560
"""Average characters between lines that may be a border. Well above half of ``SHORTEST``: after a border that an edit
has moved, the next one is mostly the same again."""


@dataclass(frozen=True, slots=True)
class HeadingBorder:
    """A heading as a border between blocks; ``start`` is where its line begins, in characters."""

    level: int
    text: str
    start: int


@dataclass(frozen=True)
class IndexBlock:
    """A stretch of a note. ``title`` joins the note's own with those of the headings above the whole stretch."""

    title: str
    text: str
    digest: str

    @cached_property
    def pieces(self) -> dict[tuple[int, str], list[Passage]]:
        """Cache: its passages, by size and labels."""
        return {}

    def cut(self, max_tokens: int, labels: str) -> list[Passage]:
        """Its passages."""
        if (max_tokens, labels) not in self.pieces:
            found = passages.cut_passages(self.title, self.text, [labels], max_tokens)
            self.pieces[max_tokens, labels] = found
        return self.pieces[max_tokens, labels]


class _Stretch(NamedTuple):
    """What lies between two headings, under the titles of the headings above it."""

    titles: tuple[str, ...]
    start: int
    end: int


def split_blocks(text: str, title: str, marks: Sequence[HeadingBorder], start: int) -> list[IndexBlock]:
    """Everything from ``start`` on, in order, except stretches without a visible character. A note without any has one
    empty block, so that its title can be found."""
    digest = _remember_digest if len(text) >= MANY else _compute_digest
    found = [
        _block(stretch.titles, part, digest)
        for stretch in _join_short(_stretches(title, marks, start, len(text)))
        for part in _split_long(text, stretch.start, stretch.end)
    ]
    return [block for block in found if block.text] or [_block((title,), "")]


def add_property_block(found: list[IndexBlock], title: str, properties: str) -> list[IndexBlock]:
    """A note's blocks, after a block for its frontmatter."""
    return [_block((title,), properties), *(block for block in found if block.text)] if properties else found


def _compute_digest(title: str, text: str) -> str:
    return hashlib.blake2b(f"{title}\0{text}".encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


_digests: dict[tuple[str, int, int], str] = {}


def _remember_digest(title: str, text: str) -> str:
    """``_compute_digest``, known by the text's length and its hash in this process (64 bits), a third of the work:
    nearly all blocks of an edited note are those of the version before."""
    key = title, len(text), hash(text)
    known = _digests.get(key)
    if known is None:
        if len(_digests) >= MAX_DIGESTS:
            _digests.clear()
        known = _digests[key] = _compute_digest(title, text)
    return known


def _block(titles: Sequence[str], text: str, digest: Callable[[str, str], str] = _compute_digest) -> IndexBlock:
    title, text = SEPARATOR.join(titles), text.strip()
    return IndexBlock(title, text, digest(title, text))


def _stretches(title: str, marks: Sequence[HeadingBorder], start: int, end: int) -> Iterator[_Stretch]:
    """From each heading to the next, with the headings above."""
    above: list[tuple[int, tuple[str, ...]]] = []  # levels, and the titles down to each
    titles: tuple[str, ...] = (title,)
    first, own = start, title.casefold()
    for mark in marks:
        if mark.start > first:
            yield _Stretch(titles, first, mark.start)
        while above and above[-1][0] >= mark.level:
            above.pop()
        titles, first = above[-1][1] if above else (title,), mark.start
        if mark.text and mark.text.casefold() != own:  # one that repeats the note's title says nothing more
            titles = (*titles, mark.text)
        above.append((mark.level, titles))
    yield _Stretch(titles, first, end)


def _join_short(stretches: Iterable[_Stretch]) -> Iterator[_Stretch]:
    """Join short stretches: what is below a heading with it, and neighbouring sections only if they hold a line or two.
    A passage of ten words costs as much as a long one; but one about several matters has the meaning of none."""
    current: _Stretch | None = None
    top: tuple[str, ...] = ()
    for each in stretches:
        limit = SHORT if each.titles[: len(top)] == top else TINY
        if current is not None and each.end - current.start <= limit:
            current = _Stretch(_common_titles(current.titles, each.titles), current.start, each.end)
            continue
        if current is not None:
            yield current
        current, top = each, each.titles
    if current is not None:
        yield current


def _common_titles(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """The titles both begin with."""
    count = next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    return one[:count]


def _split_long(text: str, first: int, last: int) -> Iterator[str]:
    """A stretch in parts of at most ``2 * LONG`` that end before a line chosen by its content. A line's odds grow with
    its length, so that borders lie as close together in texts of long lines."""
    if last - first <= LONG:
        yield text[first:last]
        return
    begin = first
    while last - begin > SHORTEST:
        border = _line_end(text, begin + SHORTEST - 1, last)
        while border < last and border - begin < LONG:
            end = _line_end(text, border, last)
            if zlib.crc32(text[border:end].encode("utf-8", "surrogatepass")) * _BORDER_EVERY < (end - border) << 32:
                break
            border = end
        yield text[begin:border]
        begin = border
    if begin < last:
        yield text[begin:last]


def _line_end(text: str, at: int, last: int) -> int:
    """Where the line ends that continues at ``at``. One longer than ``LONG`` is cut before that: all of a block is read
    at once."""
    most = min(at + LONG, last)
    end = text.find("\n", at, most) + 1
    if end or most == last:
        return end or last
    return text.rfind(" ", at + LONG // 2, most) + 1 or most
