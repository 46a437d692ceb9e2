"""Made-up PDF files with a text layer: pages of sentences under numbered headings, written by hand."""

from __future__ import annotations

import zlib
from pathlib import Path
from textwrap import wrap

from bench.made_up_text import TextWriter

SENTENCES_A_PAGE = 22
"""Some 2,000 characters: a page of a contract."""

WIDTH, TOP, LEADING = 92, 780, 13
_FONTS = b"<< /Font << /F1 3 0 R /F2 4 0 R >> >>"


def write_pdfs(folder: Path, count: int, pages: int, seed: int = 16) -> int:
    """Write ``count`` files; returns their bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    text, size = TextWriter(seed), 0
    for number in range(count):
        data = to_pdf(
            f"Paper {number}",
            [[text.sentence() for _ in range(SENTENCES_A_PAGE)] for _ in range(pages)],
        )
        (folder / f"paper-{number:05}.pdf").write_bytes(data)
        size += len(data)
    return size


def to_pdf(title: str, pages: list[list[str]]) -> bytes:
    """A file of pages of sentences, each page under a heading with its number."""
    first = 6  # the number of the first page's object
    kids = b" ".join(b"%d 0 R" % (first + 2 * page) for page in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
        b"<< /Title (%s) >>" % title.encode("ascii"),
    ]
    for number, sentences in enumerate(pages, 1):
        content = zlib.compress(_to_content(f"{number} Of things numbered {number}", sentences))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources %s /Contents %d 0 R >>"
            % (_FONTS, len(objects) + 2)
        )
        objects.append(b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(content), content))
    return to_file(objects)


def _to_content(heading: str, sentences: list[str]) -> bytes:
    lines = wrap(" ".join(sentences), WIDTH)
    shown = "".join(f"({_escape(line)}) Tj T*\n" for line in lines)
    return (
        f"BT /F2 16 Tf 50 {TOP} Td ({_escape(heading)}) Tj ET\nBT /F1 10 Tf {LEADING} TL 50 {TOP - 30} Td\n{shown}ET\n"
    ).encode("latin-1", "replace")


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def to_file(objects: list[bytes]) -> bytes:
    """A file of objects, numbered from 1: the first is the catalog, the fifth says what the file is."""
    data, places = bytearray(b"%PDF-1.4\n"), []
    for number, each in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % place for place in places)
    data += b"trailer << /Size %d /Root 1 0 R /Info 5 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(data)
