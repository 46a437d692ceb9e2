"""Answers read by somebody who is shown one form only, for tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from vaults.search import tokenizer

FENCE = re.compile(r"Up to </(\d{9})>")

NOT_WORDED = frozenset(
    {
        "url", "signals", "highlights", "score", "tokenizer", "created_at", "modified_at", "occurred_at", "updated_at",
        "at", "mode_used", "embedding", "budget",
    }
)  # fmt: skip
"""Fields that texts say otherwise or need not say: times as ages, addresses by the id in them."""


def tokens_of_json(content: dict[str, Any]) -> int:
    """Tokens of the JSON as a client writes it for its model."""
    return tokenizer.count_tokens(json.dumps(content, ensure_ascii=False))


def facts(value: Any, name: str = "") -> Iterator[str]:
    """Every text and number an answer's JSON holds, but what texts say otherwise."""
    if name in NOT_WORDED:
        return
    if isinstance(value, dict):
        for inner, each in value.items():
            yield from facts(each, inner)
    elif isinstance(value, list):
        for each in value:
            yield from facts(each, name)
    elif isinstance(value, str) and value.strip():
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield json.dumps(value)


def squeezed(text: str) -> str:
    """Text without what only lays it out: blanks, bars, backslashes, JSON's escapes."""
    return re.sub(r"[\s|\\\"]+|\\n", "", text.replace("\\n", "\n"))


def unsaid(content: dict[str, Any], text: str) -> list[str]:
    """The facts of the JSON that the text does not hold."""
    said = squeezed(text)
    return [fact for fact in facts(content) if squeezed(fact) not in said]


def outside(text: str) -> list[str]:
    """The lines outside the fence: ours."""
    found = FENCE.search(text)
    if found is None:
        return text.splitlines()
    before, _, rest = text.partition(f"\n<{found[1]}>\n")
    _, closed, after = rest.partition(f"\n</{found[1]}>")
    assert closed, "the fence is not closed"
    return [*before.splitlines(), *after.splitlines()]


def inside(text: str) -> list[str]:
    """The lines inside the fence."""
    found = FENCE.search(text)
    if found is None:
        return []
    return text.partition(f"\n<{found[1]}>\n")[2].partition(f"\n</{found[1]}>")[0].splitlines()


def is_told(text: str, *facts: str) -> bool:
    """Whether one line of the evidence holds all of these."""
    return any(all(fact in line for fact in facts) for line in inside(text))
