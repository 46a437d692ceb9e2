"""PDF files set from a title and a text, as a press sets a paper: lines filled and words divided at their ends,
ligatures, a running head and a number on each page, and a font whose glyphs have numbers of the file's own."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from bench.made_up_pdfs import to_file

MEASURE, LINES = 78, 32
"""Characters of a line and lines of a page at most: some 2,400 characters, a page of a journal."""

LEFT, TOP, FOOT, LEADING, SIZE, TITLE_SIZE = 70, 740, 60, 19, 11, 16
TITLE_MEASURE = 52

LIGATURES = {"ffi": "\ufb03", "ffl": "\ufb04", "ff": "\ufb00", "fi": "\ufb01", "fl": "\ufb02"}

_WIDTHS = {
    **dict.fromkeys("ijl'|", 222), **dict.fromkeys(" ft.,:;/\\I![]\ufb01\ufb02", 278), **dict.fromkeys("r()-`{}", 333),
    **dict.fromkeys("ckszvxyJ", 500), **dict.fromkeys("wCDHNRU", 722), **dict.fromkeys("ABEKPSVXY", 667),
    **dict.fromkeys("GOQ", 778), **dict.fromkeys("mM", 833), **dict.fromkeys("FTZL", 611), "W": 944, "%": 889,
}  # fmt: skip
"""Of Helvetica, in thousandths of its size; other characters are as wide as its digits."""

_DIGIT = 556
_LIGATURE = re.compile("ff[il]|f[fil]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff]+(?:[ ,.]+[\u0590-\u08ff]+)*")
_DIVISION = re.compile("(?<=[a-z]{3})(?<=[aeiouy])(?=[^\\Waeiouy_0-9A-Z][a-z]{2})")
"""Where a word may be divided: after a vowel, before a consonant, with three letters on either side."""


def to_pdf(title: str, text: str) -> bytes:
    """A file of as many pages as the text needs, its title over the first."""
    head = _fill(title.split(), TITLE_MEASURE)
    lines = [(TITLE_SIZE, line) for line in head] + [(SIZE, line) for line in _fill(text.split(), MEASURE)]
    pages = [lines[start : start + LINES] for start in range(0, len(lines), LINES)]
    glyphs, first = _Glyphs(), 7  # the number of the first page's object
    contents = [_to_content(glyphs, page, number, head[0]) for number, page in enumerate(pages, 1)]
    kids = b" ".join(b"%d 0 R" % (first + 2 * page) for page in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages)),
        b"<< /Type /Font /Subtype /Type0 /BaseFont /AAAAAA+Sans /Encoding /Identity-H /DescendantFonts [4 0 R]"
        b" /ToUnicode 6 0 R >>",
        b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /AAAAAA+Sans /CIDSystemInfo << /Registry (Adobe)"
        b" /Ordering (Identity) /Supplement 0 >> /DW %d /W [%s] >>" % (_DIGIT, glyphs.widths()),
        b"<< /Title <feff%s> >>" % title.encode("utf-16-be").hex().encode(),
        _to_stream(glyphs.meanings()),
    ]
    for number, content in enumerate(contents):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >>"
            b" /Contents %d 0 R >>" % (first + 2 * number + 1)
        )
        objects.append(_to_stream(content))
    return to_file(objects)


@dataclass(slots=True)
class _Glyphs:
    """The glyphs of a file, numbered as they are first used."""

    numbers: dict[str, int] = field(default_factory=dict)

    def encode(self, line: str) -> bytes:
        """A line as the numbers of its glyphs, four hex digits each, in the order in which they stand on paper."""
        shown = _LIGATURE.sub(lambda found: LIGATURES[found[0]], line)
        shown = _RIGHT_TO_LEFT.sub(lambda found: found[0][::-1], shown)
        return "".join(f"{self.numbers.setdefault(each, len(self.numbers) + 1):04x}" for each in shown).encode()

    def widths(self) -> bytes:
        return b" ".join(b"%d [%d]" % (number, _WIDTHS.get(each, _DIGIT)) for each, number in self.numbers.items())

    def meanings(self) -> bytes:
        """What each glyph says, as a ``ToUnicode`` map."""
        pairs = [f"<{number:04x}> <{each.encode('utf-16-be').hex()}>" for each, number in self.numbers.items()]
        blocks = [pairs[start : start + 100] for start in range(0, len(pairs), 100)]
        said = "".join(f"{len(some)} beginbfchar\n{chr(10).join(some)}\nendbfchar\n" for some in blocks)
        return (
            "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Own def /CMapType 2 def\n"
            f"1 begincodespacerange <0000> <ffff> endcodespacerange\n{said}endcmap end end"
        ).encode()


def _to_content(glyphs: _Glyphs, page: Sequence[tuple[int, str]], number: int, head: str) -> bytes:
    shown = [] if number == 1 else [_to_text(glyphs, 9, TOP + 2 * LEADING, [head])]
    y = TOP
    for size, lines in groupby(page, key=lambda each: each[0]):
        some = [line for _, line in lines]
        shown.append(_to_text(glyphs, size, y, some))
        y -= LEADING * (len(some) + (size == TITLE_SIZE))
    return b"\n".join([*shown, _to_text(glyphs, 9, FOOT, [str(number)])])


def _to_text(glyphs: _Glyphs, size: int, y: int, lines: Sequence[str]) -> bytes:
    shown = b" T*\n".join(b"<%s> Tj" % glyphs.encode(line) for line in lines)
    return b"BT /F1 %d Tf %d TL %d %d Td\n%s ET" % (size, LEADING, LEFT, y, shown)


def _fill(words: Sequence[str], measure: int) -> list[str]:
    """Words as lines of so many characters; a word that is longer, and cannot be divided, has one for itself."""
    return list(_iterate_lines(words, measure))


def _iterate_lines(words: Sequence[str], measure: int) -> Iterator[str]:
    """Lines of whole words; one that does not fit is divided, at a hyphen of its own if there is one."""
    line = ""
    for word in words:
        rest, room = word, measure - len(line) - bool(line)
        while len(rest) > room:
            part = _divide(rest, room)
            if part:
                yield f"{line} {part}".lstrip()
                rest = _after(rest, part)
            elif line:
                yield line
            else:  # nothing can be divided, and nothing stands before it
                break
            line, room = "", measure
        line = f"{line} {rest}".lstrip()
    if line:
        yield line


def _divide(word: str, room: int) -> str:
    """The first part of a word with the hyphen at its end; empty where no part fits."""
    own = [place + 1 for place, each in enumerate(word[:-1]) if each == "-" and 0 < place < room]
    if own:
        return word[: own[-1]]
    places = [found.start() for found in _DIVISION.finditer(word) if found.start() + 1 <= room]
    return f"{word[: places[-1]]}-" if places else ""


def _after(word: str, part: str) -> str:
    return word[len(part) :] if word.startswith(part) else word[len(part) - 1 :]


def _to_stream(content: bytes) -> bytes:
    packed = zlib.compress(content)
    return b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed)
