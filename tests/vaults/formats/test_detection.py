"""Which format a file has, and reading it by that: ``vaults.formats.known``, ``vaults.formats.document_reader``,
``vaults.formats.parsed_document``."""

from __future__ import annotations

import sys

import pytest

from tests.vaults.formats.made_files import make_docx, make_paragraph, make_pdf, make_zip, read
from vaults.formats.detection import detect
from vaults.formats.known import FORMATS
from vaults.formats.parsed_document import ParseFailed, ParseLimits


@pytest.mark.parametrize(
    ("data", "name", "mime", "found"),
    [
        (b"%PDF-1.4", "a.docx", None, "pdf"),
        (b"junk\n%PDF-1.4 \0", "a", None, "pdf"),
        (b"<!DOCTYPE html><p>", "report.pdf", None, "html"),
        (b"\n<!-- x -->\n<html>", "report.csv", None, "html"),
        (b"<html>", "a.md", None, "markdown"),
        (b"plain words", "a.docx", None, "text"),
        (b"def f(): pass", "a.py", None, "text"),
        (b"a: 1", "a.yml", None, "yaml"),
        (b"a\tb", "A.TSV", None, "csv"),
        (b"a,b", "unknown", "text/csv; charset=utf-8", "csv"),
        (b"words", "unknown", "application/pdf", "text"),
        ("w".encode("utf-16"), "a.txt", None, "text"),
        (b"WEBVTT\n", "a", None, "subtitles"),
        (b'{"cells": [], "nbformat": 4}', "a", None, "notebook"),
        (b"Received: from x\nSubject: y\n\n", "a", None, "email"),
        (b"From a@b.c Tue Jan  2 03:04:05 2024\nSubject: y\n\n", "a.txt.1", None, "mbox"),
    ],
)
def test_content_counts_before_the_name_and_the_name_before_the_type(
    data: bytes, name: str, mime: str | None, found: str
) -> None:
    assert detect(data, name, mime).name == found


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"a\0b", "binary"),
        (b"\x89PNG\r\n\x1a\n\0", "picture"),
        (b"\x7fELF\0", "program"),
        (b"\x1f\x8b\0", "unpack"),
        (b"{\\rtf1 x}", "DOCX"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 word", "before 2007"),
        (make_zip({"a.txt": "x"}), "unpack"),
    ],
)
def test_what_is_not_read_is_named(data: bytes, said: str) -> None:
    with pytest.raises(ParseFailed, match=said) as refused:
        read(data, "a.txt")
    assert refused.value.problem == "unsupported"


def test_an_encrypted_office_file_says_so() -> None:
    with pytest.raises(ParseFailed) as refused:
        read(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "a.docx")
    assert refused.value.problem == "encrypted"


def test_a_wrong_extension_is_noticed() -> None:
    parsed = read(make_pdf(["Words."]), "a.docx")
    assert (parsed.format, parsed.warnings) == ("pdf", ("named otherwise, but the file is pdf",))
    assert read(make_docx(make_paragraph("x")), "a.docx").warnings == ()


@pytest.mark.parametrize(("data", "problem"), [(b"", "empty"), (b" \n", "empty"), (b"words", "too_large")])
def test_a_file_without_text_and_one_too_large_are_refused(data: bytes, problem: str) -> None:
    with pytest.raises(ParseFailed) as refused:
        read(data, "a.txt", ParseLimits(size=4))
    assert refused.value.problem == problem


def test_a_library_that_is_absent_is_named_by_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(ParseFailed, match=r"strongroom\[documents\]") as refused:
        read(make_pdf(["Words."]))
    assert refused.value.problem == "missing"


def test_names_suffixes_and_types_belong_to_one_format() -> None:
    for each in ("name", "module"):
        assert len({getattr(known, each) for known in FORMATS}) == len(FORMATS)
    for several in ("suffixes", "other_mimes"):
        listed = [value for known in FORMATS for value in getattr(known, several)]
        assert len(set(listed)) == len(listed)
