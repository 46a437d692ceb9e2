"""The bench of code: a question is a docstring that is gone from the file, and answered by the lines that are left."""

from __future__ import annotations

import pytest

from bench import code_bases
from bench.code_bases import SMALL, SourceFile
from bench.quality.code import CodePiece, draw_questions

TEXT = '''class Till:
    """Counts the money of a shop. And more."""

    def open(self):
        """
        Pull the drawer out so that coins are seen.
        """
        return 1


def add(a, b):
    """Add."""
    return a + b


def reset_all(till):
    """Reset all of the till to nothing at once."""
    return till
'''


def test_questions_are_docstrings_that_are_taken_out() -> None:
    asked, [file] = draw_questions([SourceFile("shop/till.py", TEXT.encode())], 10)
    assert [(each.text, each.first, each.last) for each in asked] == [
        ("Counts the money of a shop", 1, 4),
        ("Pull the drawer out so that coins are seen", 3, 4),
    ]
    assert "Counts" not in file.text
    assert "drawer" not in file.text
    assert '"""Add."""' in file.text
    lines = file.text.split("\n")
    assert lines[asked[1].first - 1] == "    def open(self):"
    assert lines[asked[1].last - 1] == "        return 1"


def test_a_piece_answers_if_it_holds_a_line_of_the_definition() -> None:
    asked, _ = draw_questions([SourceFile("shop/till.py", TEXT.encode())], 10)
    assert CodePiece("shop/till.py", 4, 9, "").answers(asked[1])
    assert not CodePiece("shop/till.py", 5, 9, "").answers(asked[1])
    assert not CodePiece("shop/other.py", 1, 9, "").answers(asked[1])


def test_a_code_base_is_the_same_each_time_and_of_about_the_size_asked_for() -> None:
    if not any((code_bases.PYTHON / name).is_dir() for name in SMALL):
        pytest.skip("none of the libraries is installed")
    first = code_bases.read_code_base(SMALL, 2_000, scripts=False)
    assert first == code_bases.read_code_base(SMALL, 2_000, scripts=False)
    assert sum(each.lines for each in first) >= 2_000
    assert all(each.data.strip() for each in first)
