"""Results as frames, and back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.formats.parsed_document import ParsedDocument, ParsedPart
from vaults.parsing import result_frames
from vaults.parsing.result_frames import ResultCodec, ResultFrame


@dataclass(frozen=True, slots=True)
class Leaf:
    name: str
    kind: Literal["a", "b"]
    within: int | None = None


@dataclass(frozen=True, slots=True)
class Tree:
    language: str
    leaves: tuple[Leaf, ...]
    others: tuple[Leaf, ...] = ()
    words: tuple[str, ...] = ()


def through_frames(result: Any) -> Any:
    codec = ResultCodec(type(result))
    items: dict[str, list[Any]] = {}
    taken = [codec.take(ResultFrame(*frame), items) for frame in codec.to_frames(result)]
    assert taken[:-1] == [None] * (len(taken) - 1)
    return taken[-1]


WORDS = st.text(max_size=20)
PARTS = st.builds(ParsedPart, WORDS, heading=st.none() | WORDS, locator=st.none() | WORDS)


@given(
    st.builds(
        ParsedDocument,
        format=WORDS,
        mime=WORDS,
        parts=st.lists(PARTS, max_size=5).map(tuple),
        warnings=st.lists(WORDS, max_size=3).map(tuple),
        metadata=st.dictionaries(WORDS, WORDS | st.integers(), max_size=3),
    )
)
def test_a_document_comes_back_as_it_was(parsed: ParsedDocument) -> None:
    assert through_frames(parsed) == parsed


def test_any_dataclass_comes_back_as_it_was() -> None:
    tree = Tree("python", (Leaf("x", "a"), Leaf("y", "b", 0)), (Leaf("z", "a"),), ("one",))
    assert through_frames(tree) == tree


def test_many_items_come_in_frames_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_frames, "FRAME_BYTES", 1_000)
    tree = Tree("python", tuple(Leaf("x" * 100, "a") for _ in range(1_000)))
    frames = list(ResultCodec(Tree).to_frames(tree))
    assert max(len(frame.body) for frame in frames[1:]) < 1_500
    assert through_frames(tree) == tree


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("leaves", [{"name": "x", "kind": "c"}]),
        ("leaves", "x"),
        ("words", []),
        ("no_such", []),
        (None, {"language": 7}),
        (None, []),
    ],
)
def test_what_is_no_frame_of_a_result_is_refused(field: str | None, body: Any) -> None:
    with pytest.raises((ValueError, KeyError)):
        ResultCodec(Tree).take(ResultFrame(field, json.dumps(body).encode()), {})
