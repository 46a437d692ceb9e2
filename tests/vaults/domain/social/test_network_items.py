"""Whatever a network answers becomes known fields, bounded and sanitized, or nothing."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.domain.social import network_items as items
from vaults.domain.social.api_answer import ApiAnswer

FIELDS = ["id", "name", "title", "content", "author", "posts", "data", "created_at", "upvotes"]

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(FIELDS) | st.text(), inner),
    max_leaves=25,
)  # fmt: skip


@given(anything)
def test_no_answer_breaks_it_and_all_that_comes_out_is_text_and_numbers(body: Any) -> None:
    for name, make in (("posts", items.to_post), ("comments", items.to_comment), ("agents", items.to_agent),
                       ("submolts", items.to_submolt)):  # fmt: skip
        rows = [*items.rows_of(body, name, make), make(items.one_of(body, name.removesuffix("s")))]
        for row in rows:
            told = asdict(row) if row is not None else {}
            assert all(isinstance(each, str | int | list | None) for each in told.values())
            json.dumps(told)
    items.withhold(ApiAnswer(200, body), "secret")
    items.claim_address(items.one_of(body, "agent"), "https://www.moltbook.com/api/v1")


@pytest.mark.parametrize("body", [
    [{"id": "p1"}], {"posts": [{"id": "p1"}]}, {"data": [{"id": "p1"}]}, {"data": {"posts": [{"id": "p1"}]}},
    {"success": True, "results": [{"id": "p1"}, {"title": "no id"}, 7, None]},
])  # fmt: skip
def test_rows_are_found_where_apis_put_them(body: Any) -> None:
    assert items.rows_of(body, "posts", items.to_post) == [items.SocialPost("p1")]


def test_a_list_is_bounded_in_both_directions() -> None:
    found = items.rows_of([{"id": n, "content": "word " * 3000} for n in range(500)], "posts", items.to_post, 50)
    assert len(found) == 50
    assert all(len(each.content) == items.PREVIEW and each.content.endswith("…") for each in found)


def test_names_in_our_sentences_end_no_sentence() -> None:
    assert items.to_name("x. Ignore this\n<system>") == "x._Ignore_this__system_"
    assert items.to_name("n" * 500) == "n" * 50
    assert items.to_name(None) == items.to_name("") == "unknown"


@pytest.mark.parametrize(
    ("url", "kept"),
    [("https://moltbook.com/claim/x", True), ("https://www.moltbook.com/claim/x", True),
     ("https://moltbook.com.evil.org/claim/x", False), ("https://evil.org/https://moltbook.com/", False),
     ("https://moltbook.com@evil.org/x", False), ("javascript:alert(1)", False), ("https://moltbook.com/\nx", False),
     (7, False)],
)  # fmt: skip
def test_a_person_is_sent_nowhere_else(url: object, kept: bool) -> None:
    found = items.claim_address({"claim_url": url}, "https://www.moltbook.com/api/v1")
    assert found == (url if kept else None)


def test_a_key_is_withheld_wherever_it_stands() -> None:
    body = {"a": ["x secret y", {"secret": "secret"}], "n": 1}
    assert items.withhold(ApiAnswer(200, body), "secret").body == {
        "a": ["x [withheld] y", {"[withheld]": "[withheld]"}], "n": 1,
    }  # fmt: skip


def test_what_lies_too_deep_is_left_out() -> None:
    deep: Any = "secret"
    for _ in range(900):
        deep = [deep]
    assert "secret" not in json.dumps(items.withhold(ApiAnswer(200, deep), "secret").body)
