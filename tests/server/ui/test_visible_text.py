"""Characters that hide or turn a text around are named."""

from __future__ import annotations

import pytest

from server.ui.visible_text import show


@pytest.mark.parametrize("hidden", ["\u202e", "\u2066", "\u0000", "\u001b", "\ud800", "\U000e0041", "\u2028"])
def test_what_hides_is_named(hidden: str) -> None:
    assert show(f"a{hidden}b") == f"a[U+{ord(hidden):04X}]b"
    show(f"a{hidden}b").encode()


@pytest.mark.parametrize("plain", ["a\tb\nc", "שלום\u200f", "👩\u200d🚀", "e\u0301", ""])
def test_what_scripts_need_is_left_alone(plain: str) -> None:
    assert show(plain) == plain
    assert show("a\r\nb") == "a\nb"


def test_what_is_no_text_is_shown_as_it_was_given() -> None:
    assert show({"port": ["west", True, None, "\u202e"]}) == '{"port": ["west", true, null, "[U+202E]"]}'
    assert show(0.5) == "0.5"
