"""Long texts are searched piece by piece, and what is found is what one search of all would find."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.markdown import lines
from vaults.markdown.lines import iter_matches
from vaults.markdown.parser import parse

TEXTS = st.text(alphabet="[]|#ab \n`%<!->", max_size=200)
PATTERNS = [
    re.compile(r"\[\[([^\[\]|#\n]*+)\]\]"),
    re.compile(r"#(?<![^\s]#)[ab]++"),
    re.compile(r"\n(?=[ >]*+(?:\n|[a#]))"),
    re.compile(r"a++"),
    re.compile(r"\n[ >]*+#++(?=[ \n])[^\n]*+"),
]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "CHUNK_SIZE", 7)
    monkeypatch.setattr(lines, "CHUNK_OVERLAP", 210)  # no construct is longer


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "CHUNK_SIZE", 5)
    monkeypatch.setattr(lines, "CHUNK_OVERLAP", 3)


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda each: each.pattern)
def test_pieces_find_what_one_search_finds(pattern: re.Pattern[str], small: None) -> None:
    @given(TEXTS.map(lambda text: text * 3))
    def check(text: str) -> None:
        assert [each.span() for each in iter_matches(pattern, text)] == [each.span() for each in pattern.finditer(text)]

    check()


def test_what_a_piece_cuts_off_is_read_to_its_end(tiny: None) -> None:
    found = iter_matches(re.compile(r"a++"), "b" * 4 + "a" * 100 + "b" * 10 + "aa")
    assert [each.span() for each in found] == [(4, 104), (114, 116)]


def test_a_note_is_read_the_same_in_pieces_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "# Top\n\n" + "".join(
        f"## H{n}\n\n[[N {n}|x]] #t{n} `code [[no]]`\n- [ ] do {n} <!-- [[hidden]] -->\n> [!tip] t\n\n%% c %%\n^b{n}\n"
        for n in range(50)
    )
    whole = parse(text)
    for size in (50, 333, 1000):
        monkeypatch.setattr(lines, "CHUNK_SIZE", size)
        monkeypatch.setattr(lines, "CHUNK_OVERLAP", 200)
        assert parse(text) == whole


class _Counted:
    """A pattern that says how much text each of its searches was given."""

    def __init__(self, pattern: re.Pattern[str], most: list[int]) -> None:
        self._pattern, self._most = pattern, most

    def search(self, text: str, at: int, end: int) -> re.Match[str] | None:
        self._most.append(end - at)
        return self._pattern.search(text, at, end)


def test_no_search_is_given_more_than_a_piece() -> None:
    most: list[int] = []
    pattern = _Counted(re.compile("#"), most)
    assert list(iter_matches(pattern, "x" * 2_000_000)) == []  # type: ignore[arg-type]
    assert max(most) <= lines.CHUNK_SIZE + lines.CHUNK_OVERLAP
    assert sum(most) <= 2 * 2_000_000
