"""No bytes make the reader of a format raise anything but ``ParseFailed``."""

from __future__ import annotations

import io
import random
import zipfile
from contextlib import suppress
from email.message import EmailMessage

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vaults.formats.made_files import make_docx, make_paragraph, make_pdf
from tests.vaults.formats.test_html_page import PAGE
from tests.vaults.formats.test_mail import make_message
from tests.vaults.formats.test_markdown_text import NOTE
from tests.vaults.formats.test_notebook import cell, make_notebook
from tests.vaults.formats.test_office_package import make_pptx, make_shape, make_xlsx
from tests.vaults.formats.test_open_documents import make_epub, make_odt
from tests.vaults.formats.test_subtitles import VTT
from tests.work import examples
from vaults.formats.document_reader import parse_as
from vaults.formats.known import BY_NAME
from vaults.formats.parsed_document import ParseFailed, ParseLimits

LIMITS = ParseLimits(pages=5, decompressed=1 << 20, characters=50_000)
MESSAGE: EmailMessage = make_message()
SAMPLES = {
    "text": b"Words.\n\n\xff",
    "markdown": NOTE.encode(),
    "html": PAGE.encode(),
    "pdf": make_pdf(["Words.", ""], outline=[("Words.", 0)]),
    "docx": make_docx(make_paragraph("Top", "H1") + make_paragraph("x", "Items")),
    "pptx": make_pptx(make_shape("a", "title")),
    "xlsx": make_xlsx(lambda book: book.active.__setitem__("A1", 1.5)),
    "odt": make_odt('<text:h text:outline-level="x">a</text:h><table:table/>'),
    "epub": make_epub("<p>a</p>"),
    "csv": b'a;b\n"c;1\n',
    "json": b'{"a": [1, {"b": null}]}',
    "yaml": b"a: 1\n---\nb:\n",
    "email": bytes(MESSAGE),
    "mbox": b"From x 2024\n" + bytes(MESSAGE),
    "notebook": make_notebook(cell("code", "x", outputs=[{"text": 7}])),
    "subtitles": VTT.encode(),
}


def attempt(name: str, data: bytes) -> None:
    with suppress(ParseFailed):
        parse_as(BY_NAME[name], data, LIMITS)


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=examples(40))
@given(data=st.binary(max_size=200), seed=st.integers(0, 2**32))
def test_damaged_files_fail_as_such(name: str, data: bytes, seed: int) -> None:
    attempt(name, data)
    sample = SAMPLES[name]
    chance = random.Random(seed)
    at = chance.randrange(len(sample))
    attempt(name, sample[:at] + data + sample[at + chance.randrange(20) :])


@pytest.mark.parametrize("name", ["docx", "pptx", "xlsx", "odt", "epub"])
@settings(max_examples=examples(25))
@given(seed=st.integers(0, 2**32), junk=st.binary(max_size=30))
def test_damaged_members_of_a_zip_fail_as_such(name: str, seed: int, junk: bytes) -> None:
    chance = random.Random(seed)
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(SAMPLES[name])) as packed, zipfile.ZipFile(written, "w") as opened:
        damaged = chance.choice(packed.namelist())
        for member in packed.namelist():
            content = packed.read(member)
            if member == damaged:
                at = chance.randrange(max(1, len(content)))
                content = content[:at] + junk + content[at + chance.randrange(30) :]
            opened.writestr(member, content)
    attempt(name, written.getvalue())


def test_there_is_a_sample_of_each_format() -> None:
    assert SAMPLES.keys() == BY_NAME.keys()
    for name, sample in SAMPLES.items():
        assert parse_as(BY_NAME[name], sample, LIMITS).format == name
