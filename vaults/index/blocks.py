"""A note as blocks: what lies between two headings, in pieces of bounded size, each with a digest. Pure.

An edit changes the digests of the blocks it touches and of no other, so a note is indexed anew block by block. Blocks
that are too long for that are parted at lines their own content chooses: a line put in at the top moves no border
below it.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from vaults.index import passages
from vaults.index.passages import Passage

LONG = 16_384
"""Characters from which a block is parted."""

SHORTEST = 2_048
"""Characters a part has at least."""

SHORT = 700
"""Characters up to which stretches are joined: with the title above it, what a passage holds at most."""

TINY = 200
"""Characters up to which sections side by side are joined."""

SEPARATOR = " › "
"""Between the title of a note and the headings above a passage."""

_BORDER_EVERY = 2_560
"""Characters from one line that may be a border to the next, on average. Well above half of ``SHORTEST``: where an edit
has moved a border, the next one is mostly the same again."""


@dataclass(frozen=True, slots=True)
class HeadingBorder:
    """A heading, as a border between blocks: its level, its words, and where the line begins."""

    level: int
    text: str
    start: int


@dataclass(frozen=True)
class IndexBlock:
    """A stretch of a note under ``title``, the note's own and those of the headings above all of it."""

    title: str
    text: str
    digest: str

    @cached_property
    def pieces(self) -> dict[tuple[int, str], list[Passage]]:
        """What it was cut into, for each size and labels asked."""
        return {}

    def cut(self, max_tokens: int, labels: str) -> list[Passage]:
        """Its passages."""
        if (max_tokens, labels) not in self.pieces:
            found = passages.cut_passages(self.title, self.text, [labels], max_tokens)
            self.pieces[max_tokens, labels] = found
        return self.pieces[max_tokens, labels]


@dataclass(frozen=True, slots=True)
class _Stretch:
    """What lies between two headings, under the titles of the headings above it."""

    titles: tuple[str, ...]
    start: int
    end: int


def split_blocks(text: str, title: str, marks: Sequence[HeadingBorder], start: int) -> list[IndexBlock]:
    """Everything from ``start`` on, in order, but for stretches without a visible character. A note without any has
    one empty block: its title can be found."""
    found = [
        _block(stretch.titles, part)
        for stretch in _join_short(_stretches(title, marks, start, len(text)))
        for part in _split_long(text, stretch.start, stretch.end)
    ]
    return [block for block in found if block.text] or [_block((title,), "")]


def add_property_block(found: list[IndexBlock], title: str, properties: str) -> list[IndexBlock]:
    """A note's blocks after one for what its frontmatter says."""
    return [_block((title,), properties), *(block for block in found if block.text)] if properties else found


def _block(titles: Sequence[str], text: str) -> IndexBlock:
    title, text = SEPARATOR.join(titles), text.strip()
    digest = hashlib.blake2b(f"{title}\0{text}".encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    return IndexBlock(title, text, digest)


def _stretches(title: str, marks: Sequence[HeadingBorder], start: int, end: int) -> Iterator[_Stretch]:
    """From each heading to the next, with what stands above it."""
    above: list[HeadingBorder] = []
    titles: tuple[str, ...] = (title,)
    first = start
    for mark in marks:
        if mark.start > first:
            yield _Stretch(titles, first, mark.start)
        while above and above[-1].level >= mark.level:
            above.pop()
        above.append(mark)
        # The note's own title, written once more as its first heading, says nothing more.
        names = [each.text for each in above if each.text and each.text.casefold() != title.casefold()]
        titles, first = (title, *names), mark.start
    yield _Stretch(titles, first, end)


def _join_short(stretches: Iterable[_Stretch]) -> Iterator[_Stretch]:
    """Short stretches together: what stands below a heading with it, and sections side by side only where they hold a
    line or two. A passage of ten words costs as much as a long one; but one of several matters has the meaning of
    none of them."""
    held: _Stretch | None = None
    top: tuple[str, ...] = ()
    for each in stretches:
        limit = SHORT if each.titles[: len(top)] == top else TINY
        if held is not None and each.end - held.start <= limit:
            held = _Stretch(_common_titles(held.titles, each.titles), held.start, each.end)
            continue
        if held is not None:
            yield held
        held, top = each, each.titles
    if held is not None:
        yield held


def _common_titles(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """What two begin with alike."""
    count = next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    return one[:count]


def _split_long(text: str, first: int, last: int) -> Iterator[str]:
    """A stretch in parts of at most ``2 * LONG`` that end before a line chosen by its own content. The odds of a line
    are by its length, so that borders lie as near to each other in texts of long lines."""
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
    """Where the line ends that goes on at ``at``. One that goes on for more than ``LONG`` ends before: all of a block
    is read at once."""
    most = min(at + LONG, last)
    end = text.find("\n", at, most) + 1
    if end or most == last:
        return end or last
    return text.rfind(" ", at + LONG // 2, most) + 1 or most
