"""ODT and EPUB: ``vaults.formats.odt``, ``vaults.formats.epub``."""

from __future__ import annotations

import pytest

from tests.vaults.formats.made_files import make_zip, read
from vaults.formats.parsed_document import ParseFailed, ParseLimits

NAMES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text", "table", "meta")
)
ABOUT = (
    f'<office:document-meta {NAMES} xmlns:dc="http://purl.org/dc/elements/1.1/"><office:meta><dc:title>Plan</dc:title>'
    "<meta:initial-creator>Ann</meta:initial-creator><meta:creation-date>2024-01-02T03:04:05</meta:creation-date>"
    "</office:meta></office:document-meta>"
)


def make_odt(body: str, manifest: str = "<m/>") -> bytes:
    return make_zip(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "META-INF/manifest.xml": manifest,
            "content.xml": f'<office:document-content {NAMES} xmlns:xlink="http://www.w3.org/1999/xlink"><office:body>'
            f"<office:text>{body}</office:text></office:body></office:document-content>",
            "meta.xml": ABOUT,
        }
    )


def test_an_odt_has_sections_lists_and_tables_in_order() -> None:
    cells = (
        '<table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell table:number-columns-repeated="2"/>'
    )
    parsed = read(
        make_odt(
            "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
            '<text:h text:outline-level="1">Top</text:h>'
            '<text:p>a<text:s text:c="2"/>b <text:a xlink:href="https://example.org">link</text:a> tail</text:p>'
            "<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>in</text:p>"
            '</text:list-item></text:list></text:list-item></text:list><text:h text:outline-level="2">Sub</text:h>'
            f"<table:table><table:table-row>{cells}<table:table-cell><text:p>d</text:p></table:table-cell>"
            "</table:table-row></table:table>"
        )
    )
    assert [(part.heading, part.text) for part in parsed.parts] == [
        ("Top", "a  b link (https://example.org) tail\n\n- one\n  - in"),
        ("Top › Sub", "| a |  |  | d |"),
    ]
    assert (parsed.format, parsed.title, parsed.author) == ("odt", "Plan", "Ann")
    assert parsed.created_at == "2024-01-02T03:04:05.000Z"


def test_an_encrypted_odt_says_so() -> None:
    with pytest.raises(ParseFailed) as refused:
        read(make_odt("", "<m><encryption-data/></m>"))
    assert refused.value.problem == "encrypted"


def make_epub(*chapters: str, encrypted: str = "") -> bytes:
    listed = "".join(f'<item id="c{at}" href="text/c{at}.xhtml"/>' for at in range(len(chapters)))
    order = "".join(f'<itemref idref="c{at}"/>' for at in reversed(range(len(chapters))))
    files: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container><rootfiles><rootfile full-path="OEBPS/b.opf"/></rootfiles></container>',
        "OEBPS/b.opf": '<package><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Book</dc:title>'
        f"<dc:creator>Cy</dc:creator><dc:language>en</dc:language></metadata><manifest>{listed}</manifest>"
        f"<spine>{order}</spine></package>",
    }
    for at, chapter in enumerate(chapters):
        files[f"OEBPS/text/c{at}.xhtml"] = f"<html><body>{chapter}</body></html>"
    if encrypted:
        files["META-INF/encryption.xml"] = f'<encryption><CipherReference URI="{encrypted}"/></encryption>'
    return make_zip(files)


def test_chapters_come_in_the_order_of_the_book() -> None:
    parsed = read(make_epub("<h1>Second</h1><p>caf&eacute;</p>", "<h1>First</h1><p>text</p>"))
    assert [(part.heading, part.text, part.locator) for part in parsed.parts] == [
        ("First", "text", "chapter 1"),
        ("Second", "café", "chapter 2"),
    ]
    assert (parsed.title, parsed.author, parsed.metadata) == ("Book", "Cy", {"language": "en"})
    assert len(read(make_epub("<p>a</p>", "<p>b</p>"), limits=ParseLimits(pages=1)).parts) == 1


def test_a_protected_book_says_so_and_protected_fonts_do_not_matter() -> None:
    with pytest.raises(ParseFailed) as refused:
        read(make_epub("<p>a</p>", encrypted="OEBPS/text/c0.xhtml"))
    assert refused.value.problem == "encrypted"
    assert read(make_epub("<p>a</p>", encrypted="OEBPS/font.otf")).parts[0].text == "a"
