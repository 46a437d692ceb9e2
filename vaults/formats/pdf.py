"""PDF: the text layer, a page at a time, under the headings of its outline."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import islice
from typing import Any, NamedTuple

from vaults.formats.heading_path import HeadingPath
from vaults.formats.line_ends import LineEnds
from vaults.formats.moments import to_moment
from vaults.formats.number_ranges import describe_numbers
from vaults.formats.parsed_document import ParsedDocument, ParsedPart, ParseFailed, ParseLimits
from vaults.formats.part_cutting import cut_text
from vaults.formats.part_limits import clean_line, take_parts

MAX_BOOKMARKS, MAX_LEVELS = 5_000, 8
"""Entries of an outline that are read, and how deep."""

_IMAGE_DEPTH = 3


class Bookmark(NamedTuple):
    """An entry of the outline; pages count from 0."""

    page: int
    level: int
    title: str


def parse(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse a PDF. Raises ``ParseFailed``: encrypted, damaged, or, where its pages are pictures, empty."""
    import pypdfium2

    warnings: list[str] = []
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as failure:
        raise _explain(failure) from None
    with closing(document):
        about = document.get_metadata_dict(skip_empty=True)
        title = clean_line(about.get("Title"))
        pages = _PageReader(document, min(len(document), limits.pages), title)
        if len(document) > limits.pages:
            warnings.append(f"only the first {limits.pages} of {len(document)} pages were read")
        parts = take_parts(pages.read(), limits, warnings)
    if pages.scanned:
        warnings.append(f"without a text layer, so scanned or drawn: {describe_numbers('page', pages.scanned)}")
    if pages.damaged:
        warnings.append(f"damaged, and left out: {describe_numbers('page', pages.damaged)}")
    return ParsedDocument(
        format="pdf",
        mime="application/pdf",
        parts=parts,
        title=title,
        author=clean_line(about.get("Author")),
        created_at=to_moment(about.get("CreationDate")),
        modified_at=to_moment(about.get("ModDate")),
        warnings=tuple(warnings),
        metadata={"pages": pages.count},
    )


def _explain(failure: Exception) -> ParseFailed:
    if "assword" in str(failure) or "ecurity" in str(failure):
        return ParseFailed("encrypted", "the PDF is encrypted, and opens with a password only")
    return ParseFailed("damaged", "the PDF is damaged or incomplete")


class _PageReader:
    """Reads pages in order; ``scanned`` and ``damaged`` number, from 1, those without text. The lines that hold the
    document's title are the heading of what stands below them."""

    def __init__(self, document: Any, count: int, title: str | None) -> None:
        self._document = document
        self._title = title
        self._ends = LineEnds()
        self.count = count
        self.scanned: list[int] = []
        self.damaged: list[int] = []

    def read(self) -> Iterator[ParsedPart]:
        bookmarks = sorted(_read_bookmarks(self._document), key=lambda each: each.page)  # stable: in order on a page
        path, at = HeadingPath(), 0
        for index in range(self.count):
            text = self._read_page(index)
            start = at
            while at < len(bookmarks) and bookmarks[at].page <= index:
                at += 1
            for heading, section in _split_page(text, bookmarks[start:at], path):
                is_first = index == 0 and heading is None
                under, rest = _take_title(section, self._title) if is_first else (heading, section)
                for piece in cut_text(rest):
                    yield ParsedPart(piece.text, heading=under, locator=f"page {index + 1}")

    def _read_page(self, index: int) -> str:
        import pypdfium2

        try:
            with closing(self._document[index]) as page:
                with closing(page.get_textpage()) as layer:
                    text = self._ends.mend(layer.get_text_bounded()).replace("\r\n", "\n").replace("\r", "\n")
                if not text.strip() and _has_picture(page):
                    self.scanned.append(index + 1)
        except pypdfium2.PdfiumError:
            self.damaged.append(index + 1)
            return ""
        return text


def _has_picture(page: Any) -> bool:
    return next(iter(page.get_objects(max_depth=_IMAGE_DEPTH)), None) is not None


def _read_bookmarks(document: Any) -> Iterator[Bookmark]:
    """The outline as far as its entries lead to pages."""
    import pypdfium2

    with suppress(pypdfium2.PdfiumError, ValueError):
        for each in islice(document.get_toc(max_depth=MAX_LEVELS), MAX_BOOKMARKS):
            target, title = each.get_dest(), clean_line(each.get_title())
            page = target.get_index() if target is not None else None
            if page is not None and page >= 0 and title:
                yield Bookmark(page, each.level, title)


def _split_page(text: str, bookmarks: list[Bookmark], path: HeadingPath) -> Iterator[tuple[str | None, str]]:
    """A page cut before the lines that are headings of the outline. What cannot be found stands at its top."""
    lines = text.split("\n")
    places = {_fold(line): at for at, line in reversed(list(enumerate(lines)))} if bookmarks else {}
    start = 0
    for each in bookmarks:
        at = places.get(_fold(each.title), start)
        if at > start:
            yield path.text, "\n".join(lines[start:at])
            start = at
        path.enter(each.level, each.title)
    yield path.text, "\n".join(lines[start:])


def _take_title(section: str, title: str | None) -> tuple[str | None, str]:
    """The title, where a section begins with it, and the lines below."""
    lines, wanted, begun = section.split("\n"), _fold(title or "").replace("-", ""), ""
    for number, line in enumerate(lines if wanted else (), 1):
        begun += _fold(line).replace("-", "")  # one at the end of a line may be lost
        if begun == wanted and any(each.strip() for each in lines[number:]):
            return title, "\n".join(lines[number:])
        if not wanted.startswith(begun):
            break
    return None, section


def _fold(line: str) -> str:
    return "".join(line.split()).casefold()
