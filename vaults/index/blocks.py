"""A note as blocks: what lies between two headings, in pieces of bounded size, each with a digest. Pure.

An edit changes the digests of the blocks it touches and of no other, so a note is indexed anew block by block. Blocks
that are too long for that are parted at lines their own content chooses: a line put in at the top moves no border
below it.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vaults.index import passages
from vaults.index.passages import Passage

LONG = 16_384
"""Characters from which a block is parted."""

SHORTEST = 4_096
"""Characters a part has at least."""

SEPARATOR = " › "
"""Between the title of a note and the headings above a passage."""

_BORDER = 8
"""One line in so many may be a border: parts are of 4 to 16 KB, mostly nearer to the first."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A heading, as a border between blocks: its level, its words, and where the line begins."""

    level: int
    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a note under ``title``, the note's own and those of the headings above it."""

    title: str
    text: str
    digest: str

    def cut(self, max_tokens: int, labels: str) -> list[Passage]:
        """Its passages."""
        return passages.passages_of(self.title, self.text, [labels], max_tokens)


def blocks(text: str, title: str, marks: Sequence[Mark], start: int) -> list[Block]:
    """Everything from ``start`` on, in order, but for stretches without a visible character. A note without any has
    one empty block: its title can be found."""
    found = [
        _block(path, part)
        for path, first, last in _stretches(title, marks, start, len(text))
        for part in _parts(text, first, last)
    ]
    return [block for block in found if block.text] or [_block(title, "")]


def _block(title: str, text: str) -> Block:
    text = text.strip()
    digest = hashlib.blake2b(f"{title}\0{text}".encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    return Block(title, text, digest)


def _stretches(title: str, marks: Sequence[Mark], start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """From each heading to the next, with what stands above it."""
    above: list[Mark] = []
    path, first = title, start
    for mark in marks:
        if mark.start > first:
            yield path, first, mark.start
        above = [*(each for each in above if each.level < mark.level), mark]
        # The note's own title, written once more as its first heading, says nothing more.
        names = [each.text for each in above if each.text and each.text.casefold() != title.casefold()]
        path, first = SEPARATOR.join([title, *names]), mark.start
    yield path, first, end


def _parts(text: str, first: int, last: int) -> Iterator[str]:
    if last - first <= LONG:
        yield text[first:last]
        return
    begin = at = first
    while at < last:
        end = text.find("\n", at, last) + 1 or last
        long_enough = end - begin >= SHORTEST
        if long_enough and (
            end - begin >= LONG or zlib.crc32(text[at:end].encode("utf-8", "surrogatepass")) % _BORDER == 0
        ):
            yield text[begin:end]
            begin = end
        at = end
    if begin < last:
        yield text[begin:last]
