"""DOCX, PPTX and XLSX, and the zip they are: ``vaults.formats.docx``, ``vaults.formats.pptx``, ``vaults.formats.xlsx``,
``vaults.formats.packed_file``."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from tests.vaults.formats.made_files import CORE, A, P, R, W, make_docx, make_paragraph, make_relations, make_zip, read
from vaults.formats.packed_file import PackedFile, resolve_member
from vaults.formats.parsed_document import ParsedDocument, ParseFailed, ParseLimits

CELL = "<w:tc>{}</w:tc>"


def texts(parsed: ParsedDocument) -> list[tuple[str | None, str]]:
    return [(part.heading, part.text) for part in parsed.parts]


def test_a_docx_has_sections_lists_and_tables_in_order() -> None:
    rows = "".join(
        f"<w:tr>{''.join(CELL.format(make_paragraph(cell)) for cell in row)}</w:tr>"
        for row in (("Item", "Cost"), ("A", "1"))
    )
    parsed = read(
        make_docx(
            make_paragraph("The Contract", "T")
            + make_paragraph("Scope", "H1")
            + make_paragraph("All of it.")
            + make_paragraph("one", "Items")
            + make_paragraph("two", "Items")
            + make_paragraph("Costs", "Mine")
            + f"<w:tbl>{rows}</w:tbl>"
            + make_paragraph("Paid late.")
        )
    )
    assert texts(parsed) == [
        (None, "The Contract"),
        ("Scope", "All of it.\n\n- one\n- two"),
        ("Scope › Costs", "| Item | Cost |\n| A | 1 |\n\nPaid late."),
    ]
    assert (parsed.title, parsed.author, parsed.created_at) == ("Contract", "Ann", "2024-02-03T04:05:06.000Z")


def test_a_docx_keeps_links_and_insertions_and_drops_what_was_deleted() -> None:
    link = '<w:hyperlink r:id="hyperlink1"><w:r><w:t>docs</w:t></w:r></w:hyperlink>'
    changes = "<w:ins><w:r><w:t> new</w:t></w:r></w:ins><w:del><w:r><w:delText> old</w:delText></w:r></w:del>"
    note = f'<w:footnote w:type="separator"/><w:footnote>{make_paragraph("See §2.")}</w:footnote>'
    notes = f'<w:footnotes xmlns:w="{W}">{note}</w:footnotes>'
    data = make_docx(
        make_paragraph("See ", within=link + changes),
        {"word/footnotes.xml": notes},
        hyperlink1="https://example.org/docs",
        footnotes="footnotes.xml",
    )
    assert texts(read(data)) == [
        (None, "See docs (https://example.org/docs) new"),
        ("Footnotes", "See §2."),
    ]


def test_a_text_box_in_a_table_is_read_once() -> None:
    box = f"<w:r><w:txbxContent>{make_paragraph('boxed')}</w:txbxContent></w:r>"
    row = f"<w:tr>{CELL.format(make_paragraph('cell ', within=box))}{CELL.format(make_paragraph('next'))}</w:tr>"
    assert texts(read(make_docx(f"<w:tbl>{row}</w:tbl>"))) == [(None, "| cell boxed | next |")]


def make_pptx(*slides: str, notes: str = "") -> bytes:
    listed = "".join(f'<p:sldId r:id="slide{number}"/>' for number in range(len(slides), 0, -1))
    order = f"<p:sldIdLst>{listed}</p:sldIdLst>"
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": make_relations(officeDocument="ppt/presentation.xml"),
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{P}" xmlns:r="{R}">{order}</p:presentation>',
        "ppt/_rels/presentation.xml.rels": make_relations(
            **{f"slide{number}": f"slides/slide{number}.xml" for number in range(1, len(slides) + 1)}
        ),
        "docProps/core.xml": CORE,
    }
    for number, shapes in enumerate(slides, 1):
        files[f"ppt/slides/slide{number}.xml"] = f'<p:sld xmlns:p="{P}" xmlns:a="{A}">{shapes}</p:sld>'
    if notes:
        files["ppt/slides/_rels/slide1.xml.rels"] = make_relations(notesSlide="../notesSlides/n.xml")
        files["ppt/notesSlides/n.xml"] = f'<p:notes xmlns:p="{P}" xmlns:a="{A}">{notes}</p:notes>'
    return make_zip(files)


def make_shape(text: str, kind: str = "body") -> str:
    paragraphs = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("\n"))
    return f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr><p:txBody>{paragraphs}</p:txBody></p:sp>'


def test_slides_come_in_the_order_they_are_shown_in_with_tables_and_notes() -> None:
    cells = "".join(f"<a:tc><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></a:tc>" for text in "ab")
    data = make_pptx(
        make_shape("Last", "title") + make_shape("one\ntwo") + make_shape("7", "sldNum"),
        make_shape("First", "ctrTitle") + f"<a:tbl><a:tr>{cells}</a:tr></a:tbl>",
        notes=make_shape("Say thanks."),
    )
    parsed = read(data)
    assert [(part.heading, part.locator, part.text) for part in parsed.parts] == [
        ("First", "slide 1", "| a | b |"),
        ("Last", "slide 2", "one\ntwo\n\nNotes: Say thanks."),
    ]
    assert parsed.metadata == {"slides": 2}


def test_a_deck_is_read_up_to_the_limit() -> None:
    parsed = read(make_pptx(*(make_shape(str(number)) for number in range(5))), limits=ParseLimits(pages=2))
    assert (len(parsed.parts), parsed.warnings) == (2, ("only the first 2 of 5 slides were read",))


def make_xlsx(fill: Callable[[Any], None]) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    fill(book)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def test_rows_of_a_sheet_come_in_ranges_that_repeat_the_header() -> None:
    def fill(book: Any) -> None:
        sheet = book.active
        sheet.title = "Costs"
        sheet.append(["Item", "Cost", "Due"])
        for number in range(300):
            sheet.append([f"item {number}", number / 2, date(2024, 1, 2)])
        book.create_sheet("Empty")

    parsed = read(make_xlsx(fill))
    assert parsed.format == "xlsx"
    assert len(parsed.parts) > 1
    assert all(part.text.startswith("| Item | Cost | Due |\n") for part in parsed.parts)
    assert parsed.parts[0].text.split("\n")[1:3] == ["| item 0 | 0 | 2024-01-02 |", "| item 1 | 0.5 | 2024-01-02 |"]
    assert (parsed.parts[0].heading, parsed.parts[-1].locator) == ("Costs", "sheet Costs, rows 252–301")


def test_a_cell_far_off_costs_nothing() -> None:
    parsed = read(
        make_xlsx(lambda book: book.active.__setitem__("XFD2000", "far") or book.active.__setitem__("A1", "near"))
    )
    assert [part.text for part in parsed.parts] == ["| near |"]
    assert parsed.warnings == ("sheet Sheet: only the first 256 columns were read",)


BOMB = b"0" * (40 << 20)


@pytest.mark.parametrize("member", ["word/document.xml", "xl/workbook.xml", "ppt/presentation.xml", "OEBPS/a.xhtml"])
def test_what_unpacks_to_too_much_is_refused(member: str) -> None:
    files: dict[str, str | bytes] = {"[Content_Types].xml": "<Types/>", member: BOMB}
    if member.startswith("OEBPS"):
        files["mimetype"] = "application/epub+zip"
    with pytest.raises(ParseFailed) as refused:
        read(make_zip(files))
    assert refused.value.problem == "too_large"


def test_many_members_that_fit_one_by_one_are_refused_together() -> None:
    data = make_docx("", {f"word/media/{number}": bytes(1 << 20) for number in range(9)})
    with pytest.raises(ParseFailed) as refused:
        read(data, limits=ParseLimits(decompressed=8 << 20))
    assert refused.value.problem == "too_large"


def test_a_member_is_never_more_than_it_is_declared_to_be() -> None:
    data = bytearray(make_zip({"a.xml": bytes(1 << 20)}))
    for signature, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        at = data.index(signature) + offset
        data[at : at + 4] = struct.pack("<I", 100)
    with pytest.raises(ParseFailed) as refused:
        PackedFile(bytes(data), ParseLimits()).read("a.xml")
    assert refused.value.problem == "damaged"


def test_methods_whose_result_has_no_bound_are_not_unpacked() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as opened:
        opened.writestr("a.xml", "<a/>")
    with pytest.raises(ParseFailed) as refused:
        PackedFile(packed.getvalue(), ParseLimits()).read("a.xml")
    assert refused.value.problem == "unsupported"


ENTITIES = '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused(encoding: str) -> None:
    bomb = f'<?xml version="1.0" encoding="{encoding}"?>{ENTITIES}<a>&b;&c;</a>'.encode(encoding)
    with pytest.raises(ParseFailed, match="entities"):
        read(make_docx("", {"word/document.xml": bomb}))

    def fill(book: Any) -> None:
        book.active["A1"] = "x"

    with zipfile.ZipFile(io.BytesIO(make_xlsx(fill))) as opened:
        files = {name: opened.read(name) for name in opened.namelist()}
    with pytest.raises(ParseFailed, match="entities"):
        read(make_zip({**files, "xl/worksheets/sheet1.xml": bomb}))


def test_xml_that_is_nested_too_deep_is_refused() -> None:
    with pytest.raises(ParseFailed) as refused:
        read(make_docx("<w:sdt>" * 5_000))
    assert refused.value.problem == "too_deep"


def test_members_are_found_from_where_they_are_named() -> None:
    assert resolve_member("ppt/slides/slide1.xml", "../notes/n%201.xml#x") == "ppt/notes/n 1.xml"
    assert resolve_member("a/b", "/c") == "c"
    assert not resolve_member("a", "../../etc/passwd").startswith("/")
