"""Identifiers are found in parts and whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.code.identifiers import MAX_IDENTIFIER, split_identifier, to_search_words


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("getUserName", ["get", "user", "name"]),
        ("GetUserName", ["get", "user", "name"]),
        ("get_user_name", ["get", "user", "name"]),
        ("MAX_USER_NAMES", ["max", "user", "names"]),
        ("HTTPServer", ["http", "server"]),
        ("parseHTTPResponse2", ["parse", "http", "response", "2"]),
        ("sha256Sum", ["sha", "256", "sum"]),
        ("__init__", ["init"]),
        ("XMLHttpRequest", ["xml", "http", "request"]),
        ("größeDerKiste", ["größe", "der", "kiste"]),
        ("x", ["x"]),
        ("", []),
    ],
)
def test_an_identifier_comes_apart_where_a_word_begins(name: str, parts: list[str]) -> None:
    assert split_identifier(name) == parts


def test_words_that_the_text_holds_as_one_are_added_each_once() -> None:
    text = "def getUserName(user_id): return HTTPClient.getUserName(user_id, plain)"
    assert to_search_words(text, 100) == ["get", "user", "name", "http", "client"]
    assert to_search_words(text, 2) == ["get", "user"]
    assert to_search_words("plain words_apart", 100) == []


def test_data_is_no_identifier() -> None:
    assert to_search_words("aB" * MAX_IDENTIFIER, 100) == []


@given(st.text())
def test_parts_are_lower_case_and_in_the_name(name: str) -> None:
    for part in split_identifier(name):
        assert part == part.lower()
        assert part in name.lower()
