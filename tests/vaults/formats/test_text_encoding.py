"""From bytes to text: also ``vaults.formats.plain_text``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vaults.formats.made_files import read
from vaults.formats.parsed_document import ParseFailed, ParseLimits
from vaults.formats.text_encoding import decode_text

GERMAN = "Größe über alles — „gute“ Maße. " * 5


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_text_is_read_in_any_encoding(encoding: str) -> None:
    assert decode_text(GERMAN.encode(encoding)) == GERMAN


def test_what_a_file_says_of_itself_is_believed_where_it_fits() -> None:
    russian = "Привет, мир"
    assert decode_text(russian.encode("koi8-r"), "koi8-r") == russian
    assert decode_text(russian.encode(), "koi8-r") == russian
    assert decode_text(russian.encode(), "zip") == decode_text(russian.encode(), "no-such") == russian


def test_a_line_in_another_encoding_does_not_spoil_the_rest() -> None:
    mixed = "Größe ".encode() * 100 + "Maß für Maß".encode("cp1252")
    assert decode_text(mixed) == "Größe " * 100 + "Maß für Maß"


@pytest.mark.parametrize("before", [0, 1, 100_000])
def test_a_text_with_nul_in_it_is_no_text_wherever_it_stands(before: int) -> None:
    with pytest.raises(ParseFailed, match="binary") as refused:
        read(b"a word " * before + b"a\0b " + "Größe".encode("cp1252") + "Maß".encode(), "a.txt")
    assert refused.value.problem == "unsupported"


def test_line_endings_become_one_kind() -> None:
    assert decode_text(b"a\r\nb\rc\n") == "a\nb\nc\n"


@given(st.binary(max_size=200), st.sampled_from([None, "utf-7", "idna", "shift_jis", "unicode_escape"]))
def test_no_bytes_raise(data: bytes, declared: str | None) -> None:
    assert isinstance(decode_text(data, declared), str)


def test_text_is_cut_with_its_lines_and_ends_at_the_limit() -> None:
    data = "\n\n".join(f"Paragraph {number}. {'word ' * 100}" for number in range(100)).encode()
    parsed = read(data, "a.log")
    assert parsed.parts[0].locator == "lines 1–29"
    assert all(len(part.text) <= 8_000 for part in parsed.parts)
    short = read(data, "a.log", ParseLimits(characters=20_000))
    assert sum(len(part.text) for part in short.parts) <= 20_000
    assert short.warnings == ("only the first 20,000 characters were read: too long",)
