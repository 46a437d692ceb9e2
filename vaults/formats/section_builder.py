"""Sections of a document that comes as a stream of headings and blocks of text."""

from __future__ import annotations

from collections.abc import Iterator

from vaults.formats.heading_path import HeadingPath
from vaults.formats.parsed_document import ParsedPart
from vaults.formats.part_cutting import cut_text


class SectionBuilder:
    """Takes headings and blocks in order; a section becomes one part, or several where it is long."""

    def __init__(self) -> None:
        self._path = HeadingPath()
        self._blocks: list[str] = []
        self._sections: list[tuple[str | None, str | None, str]] = []
        self._locator: str | None = None
        self._level = 0
        self.title: str | None = None
        """The first heading."""

    def add_heading(self, level: int, text: str) -> None:
        """A heading begins a section; one without words is passed over."""
        text = " ".join(text.split())
        if not text:
            return
        if self._blocks or level <= self._level:  # else the heading before has sections of its own, and no text
            self._end_section()
        else:
            self._level = 0
        self._path.enter(level, text)
        self._level = level
        self.title = self.title or text

    def add_block(self, text: str) -> None:
        """A paragraph, list item, table or code block."""
        if text.strip():
            self._blocks.append(text.strip("\n"))

    def begin(self, locator: str | None) -> None:
        """What follows stands at another place, such as the next chapter."""
        self._end_section()
        self._locator = locator

    def end_headings(self) -> None:
        """What follows stands below no heading of before."""
        self._end_section()
        self._path = HeadingPath()

    def _end_section(self) -> None:
        text = _join_blocks(self._blocks) or (self._path.innermost if self._level else "")
        if text:
            self._sections.append((self._path.text, self._locator, text))
        self._blocks, self._level = [], 0

    def build(self) -> Iterator[ParsedPart]:
        """All parts, in order."""
        self._end_section()
        for heading, locator, text in self._sections:
            for piece in cut_text(text):
                yield ParsedPart(piece.text, heading=heading, locator=locator)


def _join_blocks(blocks: list[str]) -> str:
    """Blocks with blank lines between them, but for items of one list."""
    joined: list[str] = []
    for block in blocks:
        if joined:
            joined.append("\n" if _is_item(block) and _is_item(joined[-1]) else "\n\n")
        joined.append(block)
    return "".join(joined)


def _is_item(block: str) -> bool:
    return block.lstrip().startswith("- ")
