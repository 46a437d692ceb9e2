"""Office files and books whose XML defines entities, read as a server reads them: in a worker."""

from __future__ import annotations

import io
import zipfile
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from tests.vaults.formats.made_files import make_docx, make_paragraph, make_zip
from tests.vaults.formats.test_office_package import make_xlsx
from tests.vaults.formats.test_open_documents import make_epub, make_odt
from vaults.formats.parsed_document import ParseFailed
from vaults.parsing.parser_pool import ParserPool
from vaults.settings import IngestSettings

pytestmark = pytest.mark.asyncio(loop_scope="module")

ENTITIES = '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>'
LATE = f"<!--{'x' * 70_000}-->{ENTITIES}"
"""Where nobody looks for them any more."""

INNER = LATE.replace('<!ENTITY c SYSTEM "file:///etc/passwd">', '<!ENTITY c "c">')


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def pool() -> AsyncIterator[ParserPool]:
    pool = ParserPool(IngestSettings(workers=1))
    yield pool
    await pool.close()


def put_before(package: bytes, member: str, head: str) -> bytes:
    """The package with ``head`` before the root of one of its members."""
    with zipfile.ZipFile(io.BytesIO(package)) as opened:
        files = {name: opened.read(name) for name in opened.namelist()}
    text = files[member].decode().replace("kept", "kept &b; &c;")
    declared = text[: text.index("?>") + 2] if text.startswith("<?xml") else ""
    return make_zip({**files, member: f"{declared}{head}{text.removeprefix(declared)}"})


def fill(book: Any) -> None:
    book.active["A1"] = "kept"


PACKAGES: dict[str, tuple[Callable[[], bytes], str]] = {
    "docx": (lambda: make_docx(make_paragraph("kept")), "word/document.xml"),
    "odt": (lambda: make_odt("<text:p>kept</text:p>"), "content.xml"),
    "epub": (lambda: make_epub("<p>kept</p>"), "OEBPS/text/c0.xhtml"),
    "xlsx": (lambda: make_xlsx(fill), "xl/worksheets/sheet1.xml"),
}


@pytest.mark.parametrize("name", PACKAGES)
@pytest.mark.parametrize(
    "head", ["", ENTITIES, LATE, INNER], ids=["none", "at the beginning", "after a long comment", "of no file"]
)
async def test_xml_entities_are_neither_expanded_nor_fetched(pool: ParserPool, name: str, head: str) -> None:
    make, member = PACKAGES[name]
    data = put_before(make(), member, head) if head else make()
    try:
        parsed = await pool.of("a").parse(data, f"a.{name}")
        said = " ".join(part.text for part in parsed.parts)
    except ParseFailed as failed:
        said = f"{failed.problem}: kept back"
    assert "kept" in said
    assert head or "damaged" not in said
    assert "haha" not in said
    assert "root:" not in said
