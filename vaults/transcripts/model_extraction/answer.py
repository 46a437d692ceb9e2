"""What a model answered, read like the input of a stranger: checked field by field, and a memory that does not fit is
left out alone."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from vaults.sources.record_fields import CONTENT, TITLE, clean_json
from vaults.transcripts.extraction.kinds import PRECISION_FLOOR
from vaults.transcripts.model_extraction.language_model import BadAnswer
from vaults.transcripts.model_extraction.model_kinds import ModelKind
from vaults.transcripts.model_extraction.model_memory import ModelMemory
from vaults.transcripts.transcript import Turn

MAX_MEMORIES = 20
"""Memories of one answer that are taken, the first ones."""

MOST_TRUSTED = PRECISION_FLOOR
"""Confidence at most: nobody has measured the operator's model, so it is trusted as the least of the rules is."""

_FENCED = re.compile(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*", re.DOTALL)
_MAX_DEPTH = 24


class GivenMemory(BaseModel):
    """A memory as a model gives it; the bounds of its texts are those of ``remember``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    kind: ModelKind
    title: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=TITLE)]
    content: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=CONTENT)]
    turns: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1, max_length=100)]
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    thinking: bool = False
    replaces: Annotated[list[Annotated[int, Field(ge=1)]], Field(max_length=100)] = []


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """What may be kept of an answer. ``replaced``: numbers of known memories, from 1; ``rejected``: how many memories
    were left out, by reason."""

    memories: list[ModelMemory] = field(default_factory=list)
    replaced: frozenset[int] = frozenset()
    rejected: Counter[str] = field(default_factory=Counter)


def check_answer(text: str, shown: Mapping[int, Turn], kinds: Collection[ModelKind], known: int) -> CheckedAnswer:
    """The memories in an answer. ``shown``: the turns the model was given; ``known``: how many memories. Raises
    ``BadAnswer`` if there is no list of memories at all."""
    memories: list[ModelMemory] = []
    replaced: set[int] = set()
    rejected: Counter[str] = Counter()
    for number, each in enumerate(_read_list(text)):
        try:
            given = GivenMemory.model_validate(clean_json(each, _MAX_DEPTH))
        except ValidationError as failure:
            rejected[_explain(failure)] += 1
            continue
        reason = "more than are asked for" if number >= MAX_MEMORIES else _find_fault(given, shown, kinds)
        if reason:
            rejected[reason] += 1
            continue
        memories.append(_to_memory(given, shown))
        replaced.update(each for each in given.replaces if each <= known)
    return CheckedAnswer(memories, frozenset(replaced), rejected)


def _read_list(text: str) -> list[Any]:
    """The list of memories; the block of code that chat programs put around JSON is passed over."""
    fenced = _FENCED.fullmatch(text)
    try:
        document = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        raise BadAnswer("the answer is not JSON") from None
    found = document.get("memories") if isinstance(document, dict) else None
    if not isinstance(found, list):
        raise BadAnswer("the answer has no list of memories")
    return found


def _find_fault(given: GivenMemory, shown: Mapping[int, Turn], kinds: Collection[ModelKind]) -> str | None:
    """Why a memory is not believed."""
    if given.kind not in kinds:
        return "kind: was not asked for"
    if not all(turn in shown for turn in given.turns):
        return "turns: there are none such"
    turns = [shown[turn] for turn in given.turns]
    # As with the rules: what a tool printed, or a page said, settles nothing and is nobody's wish.
    if given.kind == "preference" and not any(turn.role == "user" for turn in turns):
        return "turns: a preference rests on words of the person"
    if given.kind == "decision" and all(turn.tool is not None or turn.role == "tool" for turn in turns):
        return "turns: a decision rests on somebody's words"
    return None


def _to_memory(given: GivenMemory, shown: Mapping[int, Turn]) -> ModelMemory:
    positions = tuple(sorted(set(given.turns)))
    turns = [shown[position] for position in positions]
    return ModelMemory(
        kind=given.kind,
        title=" ".join(given.title.split()),
        content=given.content,
        confidence=min(given.confidence, MOST_TRUSTED),
        turns=positions,
        at=turns[-1].at,
        by_agent=not all(turn.role == "user" for turn in turns),
        is_thinking=given.thinking or all(turn.thinking for turn in turns),
    )


def _explain(failure: ValidationError) -> str:
    """Which field does not fit, without what stood in it."""
    first = failure.errors(include_url=False, include_context=False, include_input=False)[0]
    place = str(first["loc"][0])[:40] if first["loc"] else "memory"
    return f"{place}: does not fit" if place in GivenMemory.model_fields else "a field nobody asked for"


def answer_schema(kinds: Collection[ModelKind]) -> dict[str, Any]:
    """The shape of an answer for endpoints that keep a model to it: in their strict form, all fields are required and
    none has bounds."""
    numbers = {"type": "array", "items": {"type": "integer"}}
    fields: dict[str, Any] = {
        "kind": {"type": "string", "enum": sorted(kinds)},
        "title": {"type": "string"},
        "content": {"type": "string"},
        "turns": numbers,
        "confidence": {"type": "number"},
        "thinking": {"type": "boolean"},
        "replaces": numbers,
    }
    memory = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    memories = {"type": "array", "items": memory}
    return {
        "type": "object",
        "properties": {"memories": memories},
        "required": ["memories"],
        "additionalProperties": False,
    }
