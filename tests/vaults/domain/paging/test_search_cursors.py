"""A cursor goes round; whatever else is given in its place is refused, and never costs more than a cursor may."""

from __future__ import annotations

import base64
import json
import tracemalloc
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Asking
from vaults.domain.paging.search_cursors import MAX_SHOWN, SearchCursor, next_cursor, parse_cursor
from vaults.errors import InvalidArgument

MAX_CURSOR_CHARACTERS = 20_000
"""What the tool takes."""

KEYS = st.frozensets(st.tuples(st.sampled_from(["memory", "note"]), st.integers(0, 2**63 - 1)), max_size=30)


def packed(value: Any) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(zlib.compress(text)).decode().rstrip("=")


@given(st.text(max_size=20), st.integers(0, 2**63 - 1), KEYS)
def test_a_cursor_goes_round(question: str, as_of: int, shown: frozenset[tuple[str, int]]) -> None:
    cursor = SearchCursor(question, as_of, shown)
    assert parse_cursor(cursor.text(), question) == cursor


def test_pages_add_up_and_keep_their_moment() -> None:
    first = next_cursor("q", 7, None, [("memory", 1)])
    second = next_cursor("q", 99, first, [("memory", 2)])
    assert second == SearchCursor("q", 7, frozenset({("memory", 1), ("memory", 2)}))
    assert next_cursor("q", 7, second, [("memory", n) for n in range(MAX_SHOWN)]) is None


def test_the_longest_cursor_may_be_given_back() -> None:
    numbers = [("memory", 37 * n * n % 1_000_003) for n in range(1, MAX_SHOWN)]
    cursor = next_cursor("0123456789abcdef", 1 << 40, None, numbers)
    assert cursor is not None
    assert len(cursor.text()) < MAX_CURSOR_CHARACTERS


FORGED = [
    "", "x", "====", "é", "\x00", "日本", "A" * 4001, "-_" * 99,
    packed([]), packed(None), packed("abc"), packed(["q", 1]), packed(["q", 1, {}, 2]), packed(["q", 1, []]),
    packed(["q", 1, None]), packed(["q", 1, {"memory": 1}]), packed(["q", 1, {"memory": None}]),
    packed(["q", -1, {}]), packed(["q", 2**63, {}]), packed(["q", 1.0, {}]), packed(["q", True, {}]),
    packed(["q", 1, {"memory": [-1]}]), packed(["q", 1, {"memory": ["1"]}]), packed(["q", 1, {"memory": [[1]]}]),
    packed(["q", 1, {"memory": [2**64]}]), packed(b'["q", 1, {"memory": [' + b"9" * 5000 + b"]}]"),
    packed(b"\xff\xfe\x00"), packed(b'["q", NaN, {}]'), packed(b"[" * 200_000), packed(b'{"a":' * 100_000),
    packed(["q", 1, {"memory": [1]}])[:-6], base64.urlsafe_b64encode(b'["q", 1, {}]').decode(),
]  # fmt: skip


@pytest.mark.parametrize("text", FORGED, ids=range(len(FORGED)))
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        parse_cursor(text, "q")


@given(st.text(max_size=60) | st.binary(max_size=60).map(packed))
def test_anything_at_all_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        parse_cursor(text, "a question nobody asked")


def test_a_bomb_is_neither_unpacked_nor_read(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = packed(b'["q", 1, {"memory": [' + b"1," * 20_000_000 + b"1]}]")
    monkeypatch.setattr("vaults.domain.paging.search_cursors.json", None)
    tracemalloc.start()
    with pytest.raises(InvalidArgument):
        parse_cursor(bomb, "q")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


async def test_the_tool_refuses_and_goes_on(ask: Asking) -> None:
    for n in range(5):
        await ask("remember", content=f"harbour number {n}")
    first = await ask("search", query="harbour", limit=2)
    cursor = first.content["cursor"]
    for text in (*FORGED, packed(b"[" + b"1," * 5_000_000), "A" * (MAX_CURSOR_CHARACTERS + 1)):
        if text:
            assert (await ask("search", query="harbour", limit=2, cursor=text)).code == "invalid_argument", text[:40]
    assert (await ask("search", query="another", cursor=cursor)).code == "invalid_argument"
    shown = [hit["id"] for hit in first.content["hits"]]
    await ask("remember", content="harbour stored in between")
    while cursor is not None:
        page = await ask("search", query="harbour", limit=2, cursor=cursor)
        shown += [hit["id"] for hit in page.content["hits"]]
        cursor = page.content.get("cursor")
    assert len(shown) == len(set(shown)) == 5
