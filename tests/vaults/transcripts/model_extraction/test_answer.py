"""What a model answered is checked like the input of a stranger, each memory alone."""

from __future__ import annotations

import contextlib
import json
from typing import Any, get_args

import jsonschema
import pytest
from pydantic import ValidationError

from tests.vaults.transcripts.model_extraction.completions import memory
from vaults.domain.memories.memory_model import MemoryFields
from vaults.transcripts.model_extraction.answer import (
    MAX_MEMORIES,
    MOST_TRUSTED,
    CheckedAnswer,
    GivenMemory,
    answer_schema,
    check_answer,
)
from vaults.transcripts.model_extraction.language_model import BadAnswer
from vaults.transcripts.model_extraction.model_kinds import MODEL_KINDS, MODEL_MEMORY_TYPES, ModelKind, replaced_kinds
from vaults.transcripts.transcript import ToolUse, Turn

SHOWN = {
    0: Turn(0, "user", "Use pnpm.", at="2026-11-22T10:00:00.000Z"),
    1: Turn(1, "assistant", "I wonder.", thinking=True),
    2: Turn(2, "tool", "", tool=ToolUse("Bash", {"command": "make"})),
    3: Turn(3, "assistant", "Done."),
}


def checked(*memories: Any, known: int = 0, kinds: tuple[ModelKind, ...] = MODEL_KINDS) -> CheckedAnswer:
    return check_answer(json.dumps({"memories": memories}), SHOWN, kinds, known)


def test_a_memory_takes_its_time_and_speaker_from_its_turns() -> None:
    [said, thought, both] = checked(
        memory(turns=[0], title=" Use \n pnpm "), memory(turns=[1]), memory(turns=[3, 0, 3])
    ).memories
    assert (said.title, said.at, said.by_agent, said.type) == ("Use pnpm", SHOWN[0].at, False, "learning")
    assert (thought.is_thinking, thought.type) == (True, "thinking")  # only reasoning says so, whatever it claims
    assert (both.turns, both.by_agent, both.is_thinking) == ((0, 3), True, False)


def test_confidence_ends_at_the_floor_of_the_rules() -> None:
    found = checked(memory(confidence=1), memory(confidence=0.2))
    assert [each.confidence for each in found.memories] == [MOST_TRUSTED, 0.2]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"turns": [4]}, "turns: there are none such"),
        ({"turns": [0, 4]}, "turns: there are none such"),
        ({"turns": []}, "turns: does not fit"),
        ({"turns": ["0"]}, "turns: does not fit"),
        ({"turns": [True]}, "turns: does not fit"),
        ({"turns": [-1]}, "turns: does not fit"),
        ({"kind": "order"}, "kind: does not fit"),
        ({"kind": "decision", "turns": [2]}, "turns: a decision rests on somebody's words"),
        ({"kind": "preference", "turns": [2, 3]}, "turns: a preference rests on words of the person"),
        ({"title": " "}, "title: does not fit"),
        ({"title": "x" * 501}, "title: does not fit"),
        ({"content": "x" * 51_201}, "content: does not fit"),
        ({"content": None}, "content: does not fit"),
        ({"confidence": 1.1}, "confidence: does not fit"),
        ({"confidence": "high"}, "confidence: does not fit"),
        ({"workspace": "other"}, "a field nobody asked for"),
        ({"replaces": [0]}, "replaces: does not fit"),
    ],
)
def test_one_that_does_not_fit_is_left_out_alone(fields: dict[str, Any], reason: str) -> None:
    found = checked(memory(), memory(**fields), memory(title="Another"))
    assert [each.title for each in found.memories] == ["Tides live in SQLite", "Another"]
    assert found.rejected == {reason: 1}


def test_what_is_no_memory_is_left_out_too() -> None:
    assert checked("a", None, 1, [], {}).rejected.total() == 5


def test_kinds_that_were_not_asked_for_are_left_out() -> None:
    assert checked(memory(), kinds=("fix",)).rejected == {"kind: was not asked for": 1}


def test_no_more_are_taken_than_were_asked_for() -> None:
    found = checked(*[memory(title=str(number)) for number in range(MAX_MEMORIES + 5)])
    assert (len(found.memories), found.rejected.total()) == (MAX_MEMORIES, 5)


def test_only_memories_that_were_shown_are_replaced() -> None:
    assert checked(memory(replaces=[1, 2, 3]), known=2).replaced == {1, 2}
    assert checked(memory(turns=[9], replaces=[1]), known=2).replaced == set()  # one that is left out replaces nothing


@pytest.mark.parametrize(
    "text", ["", "hello", "[]", '{"memories": {}}', '{"memories": [', "null", "[" * 60_000, "1" * 9_999]
)
def test_what_is_no_answer_is_bad(text: str) -> None:
    with pytest.raises(BadAnswer):
        check_answer(text, SHOWN, MODEL_KINDS, 0)


def test_a_block_of_code_around_it_is_passed_over() -> None:
    text = "```json\n" + json.dumps({"memories": [memory()]}) + "\n```\n"
    assert len(check_answer(text, SHOWN, MODEL_KINDS, 0).memories) == 1


def test_half_characters_and_nul_are_cleaned() -> None:
    [found] = checked(memory(content="a\x00b \ud800")).memories
    assert found.content == "ab \ufffd"


def test_the_schema_and_the_checks_name_the_same_fields() -> None:
    schema = answer_schema(MODEL_KINDS)
    fields = schema["properties"]["memories"]["items"]
    assert set(fields["properties"]) == set(fields["required"]) == set(GivenMemory.model_fields)
    jsonschema.validate({"memories": [memory()]}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"memories": [memory(kind="order")]}, schema)


@pytest.mark.parametrize(("name", "most"), [("title", 500), ("content", 51_200)])
def test_the_bounds_are_those_of_remember(name: str, most: int) -> None:
    for length, fits in ((most, True), (most + 1, False)):
        given = {"content": "x", name: "x" * length}
        assert (len(checked(memory(**given)).memories) == 1) is fits
        with contextlib.nullcontext() if fits else pytest.raises(ValidationError):
            MemoryFields.model_validate(given)


def test_each_kind_has_a_type_and_the_rules_keep_what_tools_say() -> None:
    assert set(MODEL_MEMORY_TYPES) == set(get_args(ModelKind))
    assert replaced_kinds(MODEL_KINDS) == {"decision", "fix", "preference"}
    assert replaced_kinds(["fix", "useful"]) == {"fix"}
