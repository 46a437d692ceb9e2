"""PDFs made to harm whoever reads them, read as a server reads them: in a worker, within its limits."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable, Mapping

import pytest
import pytest_asyncio

from tests.vaults.formats.made_files import assemble_pdf
from vaults.formats.parsed_document import ParseFailed
from vaults.parsing.parser_pool import ParserPool
from vaults.settings import IngestSettings

SETTINGS = IngestSettings(workers=1, parse_memory=512 << 20, parse_seconds=20)
TEXT = "BT /F1 12 Tf 40 700 Td (Words.) Tj ET"
HUGE = 2**31 - 1

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def pool() -> AsyncIterator[ParserPool]:
    pool = ParserPool(SETTINGS)
    yield pool
    await pool.close()


def stream(content: str, entries: str = "", length: int | None = None) -> str:
    return f"<< {entries} /Length {len(content) if length is None else length} >>\nstream\n{content}\nendstream"


def packed(megabytes: int, times: int = 1, entries: str = "") -> str:
    """A stream of blanks, packed so many times."""
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(b" " * (1 << 20)) for _ in range(megabytes)) + packer.flush()
    for _ in range(times - 1):
        data = zlib.compress(data, 9)
    return stream(data.decode("latin-1"), f"/Filter [{'/FlateDecode ' * times}] {entries}")


def made(
    others: Mapping[int, str] | None = None,
    *,
    catalog: str = "",
    page: str = "",
    fonts: str = "/Resources << /Font << /F1 5 0 R >> >>",
    trailer: str = "",
) -> bytes:
    """A PDF of one page that says "Words."; ``others``: objects beside, or in the place of, its own."""
    objects = {
        1: f"<< /Type /Catalog /Pages 2 0 R {catalog} >>",
        2: "<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
        3: f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R {fonts} {page} >>",
        4: stream(TEXT),
        5: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        **(others or {}),
    }
    return assemble_pdf(objects, trailer)


def scripted() -> bytes:
    script = "<< /S /JavaScript /JS (app.launchURL\\('http://127.0.0.1:9/'\\)) >>"
    launch = "/Annots [<< /Subtype /Link /A << /S /Launch /F (/bin/sh) >> >>]"
    return made(catalog=f"/OpenAction {script} /AA << /WC {script} >>", page=f"/AA << /O {script} >> {launch}")


def pictured(method: str) -> bytes:
    entries = "/Type /XObject /Subtype /Image /Width 65535 /Height 65535 /BitsPerComponent 8 /ColorSpace /DeviceGray"
    return made(
        {4: stream(f"/I Do {TEXT}"), 6: stream("\x97JB2\r\n\x1a\n" * 99, f"{entries} /Filter /{method}")},
        fonts="/Resources << /Font << /F1 5 0 R >> /XObject << /I 6 0 R >> >>",
    )


def mapped() -> bytes:
    everything = (
        "begincmap 1 begincodespacerange <00000000> <ffffffff> endcodespacerange"
        " 1 beginbfrange <00000000> <ffffffff> <0041> endbfrange endcmap"
    )
    font = "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /ToUnicode 6 0 R >>"
    return made({5: font, 6: stream(everything)})


def with_bad_font() -> bytes:
    font = "<< /Type /Font /Subtype /TrueType /BaseFont /X /FontDescriptor << /FontFile2 6 0 R >> >>"
    return made({5: font, 6: stream("\x00\x01\x00\x00\xff\xff" * 99)})


ENDLESS = f"/DecodeParms << /Predictor 15 /Columns {HUGE} /Colors 32 /BitsPerComponent 32 >>"
EXPLOITS: dict[str, Callable[[], bytes]] = {
    "scripts and programs to start": scripted,
    "length beyond the end": lambda: made({4: stream(TEXT, length=HUGE)}),
    "length below nothing": lambda: made({4: stream(TEXT, length=-1)}),
    "length that is itself": lambda: made({4: f"<< /Length 4 0 R >>\nstream\n{TEXT}\nendstream"}),
    "pages without number": lambda: made({2: f"<< /Type /Pages /Count {HUGE} /Kids [3 0 R] >>"}),
    "pages below nothing": lambda: made({2: "<< /Type /Pages /Count -5 /Kids [3 0 R] >>"}),
    "arrays in arrays": lambda: made(page="/X " + "[" * 100_000 + "]" * 100_000),
    "dictionaries in dictionaries": lambda: made(trailer="/X " + "<< /A " * 100_000),
    "a bomb": lambda: made({4: packed(64)}),
    "a bomb in a bomb": lambda: made({4: packed(32, 6)}),
    "columns without end": lambda: made({4: packed(1, 1, ENDLESS)}),
    "objects that hold themselves": lambda: made(
        {6: stream("6 0 7 5 << >>", "/Type /ObjStm /N 99999 /First 9 /Extends 6 0 R")}
    ),
    "tables that follow themselves": lambda: made(trailer="/Prev 9"),
    "a page without borders": lambda: made(page=f"/MediaBox [-{HUGE} -{HUGE} {HUGE} {HUGE}] /UserUnit {HUGE}"),
    "a font that maps everything": mapped,
    "a font that is none": with_bad_font,
    "a JBIG2 picture": lambda: pictured("JBIG2Decode"),
    "a JPX picture": lambda: pictured("JPXDecode"),
    "a fax": lambda: pictured("CCITTFaxDecode"),
}
PROBLEMS = ("damaged", "empty", "too_large", "memory", "timeout", "crashed")


@pytest.mark.parametrize("shape", EXPLOITS)
async def test_a_pdf_shaped_as_an_exploit_is_read_or_refused_and_the_next_file_is_read(
    pool: ParserPool, shape: str
) -> None:
    parsers, data = pool.of("a"), EXPLOITS[shape]()
    try:
        said = {part.text for part in (await parsers.parse(data, "a.pdf")).parts}
    except ParseFailed as failed:
        said = {failed.problem}
    assert said == {"Words."} or said <= {*PROBLEMS}, said
    assert (await parsers.parse(b"# Next\n\nSound.", "b.md")).parts[0].text == "Sound."
