"""What others stored fits into a line, whatever it was.

Covers vaults.memory_types.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.work import examples
from vaults.sources.record_fields import (
    CONTENT,
    METADATA_BYTES,
    clean_json,
    clean_text,
    cut_text,
    fit_metadata,
    parse_json,
    split_text,
    to_count,
    to_fraction,
    to_label,
    to_memories,
    to_sentences,
    to_tags,
)

ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=300)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
)


@given(ANY_TEXT)
def test_a_cleaned_text_can_be_stored(text: str) -> None:
    cleaned = clean_text(text)
    assert "\x00" not in cleaned
    assert cleaned.encode().decode() == cleaned
    assert clean_text(cleaned) == cleaned


def test_halves_that_belong_together_become_one_character() -> None:
    assert clean_text("a\ud83d\ude00b\x00c\udc00") == "a😀bc\ufffd"


@settings(max_examples=examples(20))
@given(ANY_JSON)
def test_a_cleaned_value_is_json(value: Any) -> None:
    json.dumps(clean_json(value), allow_nan=False, ensure_ascii=False).encode()


@given(ANY_TEXT)
def test_a_label_is_one_line_of_at_most_200(text: str) -> None:
    label = to_label(text * 3)
    assert label is None or (0 < len(label) <= 200 and len(label.splitlines()) == 1 and label == to_label(label))


def test_long_labels_that_differ_stay_different() -> None:
    assert to_label("a" * 300) != to_label("a" * 301)
    assert to_label(" a\n b ") == "a b"
    assert to_label(" \n") is None
    assert to_label(None) is None


def test_tags_are_few_short_and_each_once() -> None:
    assert to_tags(["a", " a ", "", 7, "b" * 200]) == ["a", "7", "b" * 100]
    assert len(to_tags([str(n) for n in range(100)])) == 20
    assert to_tags("one") == ["one"]
    assert to_tags(None) == []


def test_sentences_are_texts_whatever_they_were() -> None:
    assert to_sentences(["a", "", {"b": 1}, "c" * 3000])[:2] == ["a", '{"b": 1}']
    assert len(to_sentences(["c" * 3000])[0]) == 2000
    assert to_sentences({"a": 1}) == ['{"a": 1}']
    assert to_sentences(None) == to_sentences({}) == []


@settings(max_examples=examples(20))
@given(st.dictionaries(ANY_TEXT, ANY_JSON, max_size=6), st.integers(10, 500))
def test_metadata_fits(values: dict[str, Any], most: int) -> None:
    kept = fit_metadata(values, most)
    assert len(json.dumps(kept, ensure_ascii=False, allow_nan=False).encode()) <= most


def test_of_metadata_the_largest_value_goes_first() -> None:
    assert fit_metadata({"a": "x" * METADATA_BYTES, "b": 1, "c": "", "d": None}) == {"b": 1}


@given(ANY_TEXT, st.integers(10, 50))
def test_a_split_text_loses_no_words(text: str, most: int) -> None:
    parts = split_text(text, most)
    assert all(0 < len(part) <= most and part.strip() for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_a_memory_that_is_too_long_becomes_several_in_order() -> None:
    text = "\n\n".join(f"Paragraph {n} " + "word " * 2000 for n in range(12))
    fields = {
        "external_id": "x:1",
        "content": text,
        "title": "T",
        "type": "fact",
        "tags": ["a"],
        "links": [["a", "r", "b"]],
    }
    lines = list(to_memories(fields))
    assert [line["external_id"] for line in lines] == ["x:1", "x:1#2", "x:1#3"]
    assert [(line["parent"], line["position"]) for line in lines] == [("x:1", 0), ("x:1", 1), ("x:1", 2)]
    assert [line["title"] for line in lines] == ["T", "T (2)", "T (3)"]
    assert ["links" in line for line in lines] == [True, False, False]
    assert all(len(line["content"]) <= CONTENT and line["tags"] == ["a"] for line in lines)


def test_an_unknown_type_is_kept_in_the_metadata() -> None:
    (line,) = to_memories({"external_id": "x:1", "content": "c", "type": "Dream", "metadata": {"a": 1}})
    assert (line["type"], line["metadata"]) == ("raw", {"original_type": "Dream", "a": 1})
    (line,) = to_memories({"external_id": "x:1", "content": "c", "type": "Decision"})
    assert line["type"] == "decision"


def test_numbers_are_numbers() -> None:
    assert [to_fraction(each) for each in (0.5, 2, -1, True, "1", None, float("nan"))] == [0.5, 1, 0, *[None] * 4]
    assert [to_count(each) for each in (0, 3.0, -1, True, "1", None, 2**60)] == [0, 3, *[None] * 5]
    assert [to_count(float("inf")), to_count(float("nan"))] == [None, None]


def test_json_that_is_none_is_none() -> None:
    assert parse_json('{"a": "\\ud800"}') == {"a": "\ufffd"}
    assert [parse_json(each) for each in ("", None, "{", 5, "[" * 100_000, b"{}")] == [None] * 6
    assert cut_text(None, 5) is cut_text(" ", 5) is None
    assert cut_text("abcdefgh", 5) == "abcd…"
