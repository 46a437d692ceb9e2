"""Text cut into parts of bounded size by its structure: between paragraphs, rather than within; never inside a code
fence or a table row, as long as one fits. A table that is cut repeats its header, a fence its opening. Pure, linear."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

PART_CHARACTERS = 8_000
"""Max characters of a part; what is repeated at a cut comes on top."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RULE = re.compile(r"\s*\|[\s|:-]*\Z")
_SENTENCE = re.compile(r"[.!?。！？]['\")\]]*\s")


@dataclass(frozen=True, slots=True)
class CutText:
    """A stretch of a text, with the numbers of its first and last line."""

    text: str
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines that belong together. ``head``, ``tail``: what stands around each stretch where they are cut."""

    lines: Sequence[str]
    first: int
    head: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return sum(map(len, self.lines)) + len(self.lines)


def cut_text(text: str, size: int = PART_CHARACTERS) -> list[CutText]:
    """The pieces of a text; lines are numbered from 1."""
    return cut_lines(text.split("\n"), 1, size)


def cut_lines(lines: Sequence[str], first_line: int, size: int = PART_CHARACTERS) -> list[CutText]:
    """The pieces of lines, of which the first has number ``first_line``. Blank ones around a piece are dropped."""
    pieces: list[CutText] = []
    kept: list[_Block] = []
    room = size
    for block in _cut_large(_find_blocks(lines, first_line), size):
        if block.size > room and kept:
            pieces.extend(_join(kept))
            kept, room = [], size
        kept.append(block)
        room -= block.size
    pieces.extend(_join(kept))
    return pieces


def _join(blocks: Sequence[_Block]) -> Iterator[CutText]:
    numbered = [(block.first + at, line) for block in blocks for at, line in enumerate(block.lines)]
    filled = [at for at, (_, line) in enumerate(numbered) if line.strip()]
    if not filled:
        return
    numbered = numbered[filled[0] : filled[-1] + 1]
    text = "\n".join([*blocks[0].head, *(line for _, line in numbered), *blocks[-1].tail])
    yield CutText(text, numbered[0][0], numbered[-1][0])


def _find_blocks(lines: Sequence[str], first_line: int) -> Iterator[_Block]:
    start = 0
    while start < len(lines):
        fence = _FENCE.match(lines[start])
        if fence:
            end = _find_fence_end(lines, start, fence[1])
            yield _Block(lines[start:end], first_line + start, (lines[start],), (fence[1],))
        elif lines[start].lstrip().startswith("|"):
            end = _find_run_end(lines, start)
            yield _Block(lines[start:end], first_line + start, _find_table_head(lines[start:end]))
        else:
            end = _find_paragraph_end(lines, start)
            yield _Block(lines[start:end], first_line + start)
        start = end


def _find_fence_end(lines: Sequence[str], start: int, mark: str) -> int:
    closing = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}\s*\Z")
    at = start + 1
    while at < len(lines):
        if closing.match(lines[at]):
            return at + 1
        at += 1
    return at


def _find_run_end(lines: Sequence[str], start: int) -> int:
    at = start + 1
    while at < len(lines) and lines[at].lstrip().startswith("|"):
        at += 1
    return at


def _find_table_head(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(lines[:2] if len(lines) > 1 and _RULE.match(lines[1]) else lines[:1])


def _find_paragraph_end(lines: Sequence[str], start: int) -> int:
    """Past the blank lines that end a paragraph."""
    at = start
    while at < len(lines) and lines[at].strip() and (at == start or not _starts_block(lines[at])):
        at += 1
    while at < len(lines) and not lines[at].strip():
        at += 1
    return max(at, start + 1)


def _starts_block(line: str) -> bool:
    return line.lstrip().startswith("|") or _FENCE.match(line) is not None


def _cut_large(blocks: Iterator[_Block], size: int) -> Iterator[_Block]:
    for block in blocks:
        if block.size <= size:
            yield _Block(block.lines, block.first)
        else:
            yield from _cut_block(block, size)


def _cut_block(block: _Block, size: int) -> Iterator[_Block]:
    """Stretches of lines; head and tail stand with those that need them."""
    start = 0
    stretches: list[_Block] = []
    count = 0
    for at, line in enumerate(block.lines):
        if at > start and count + len(line) + 1 > size:
            stretches.append(_Block(block.lines[start:at], block.first + start))
            start, count = at, 0
        if len(line) > size:
            stretches += [_Block([each], block.first + at) for each in _cut_line(line, size)]
            start, count = at + 1, 0
        else:
            count += len(line) + 1
    if start < len(block.lines):
        stretches.append(_Block(block.lines[start:], block.first + start))
    for number, stretch in enumerate(stretches):
        head = block.head if number else ()
        tail = block.tail if number < len(stretches) - 1 else ()
        yield _Block(stretch.lines, stretch.first, head, tail)


def _cut_line(line: str, size: int) -> Iterator[str]:
    """A long line in pieces: after a sentence, else at a blank, else anywhere."""
    start = 0
    while len(line) - start > size:
        window = line[start : start + size]
        ends = [found.end() for found in _SENTENCE.finditer(window, size // 2)]
        cut = ends[-1] if ends else window.rfind(" ", size // 2) + 1 or size
        yield window[:cut].rstrip()
        start += cut
    yield line[start:].rstrip()
