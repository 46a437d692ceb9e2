"""What is sent of a result, how many tokens it takes, and how many rows fit into an answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any

from pydantic import TypeAdapter

from vaults.domain.paging import token_budget
from vaults.search import tokenizer
from vaults.search.token_counts import TOKEN_COUNTS

CHARACTERS_PER_TOKEN = 2.2
"""Min characters of JSON per token, mostly. Rows that fit by this measure are not counted: if they are too many after
all, the count of the whole answer shows it."""

TEXT_TO_JSON = 0.85
"""Share of the JSON's length up to which a text need not be counted: it leaves out field names and quotes. A longer
text spells something out."""

SEPARATOR = 1
"""Max tokens between two rows."""

FREE_FORM = frozenset({"metadata", "frontmatter", "state", "config", "kept"})
"""Objects that callers wrote or operators set: their empty values mean something."""

_PLAIN = frozenset({str, int, float, bool})
_ENCODER = json.JSONEncoder(ensure_ascii=False)


def dump(adapter: TypeAdapter[Any], value: Any) -> Any:
    """A value as JSON types, without None and default values."""
    return adapter.dump_python(value, mode="json", exclude_none=True, exclude_defaults=True)


def prune(value: Any) -> Any:
    """JSON types without empty values."""
    if isinstance(value, list):
        return [each if type(each) in _PLAIN else prune(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: each if type(each) in _PLAIN or name in FREE_FORM else prune(each)
        for name, each in value.items()
        if name in FREE_FORM or each not in ("", [], {})
    }


def serialize(value: Any) -> str:
    """A value as a client writes it for its model."""
    return _ENCODER.encode(value)


def count_tokens(written: str, text: str) -> int:
    """Tokens of the longer form of an answer: of its JSON, as it is ``written``, or of its text."""
    used = tokenizer.count_tokens(written)
    return used if len(text) <= TEXT_TO_JSON * len(written) else max(used, tokenizer.count_tokens(text))


async def count_fitting(pool: Executor, adapter: TypeAdapter[Any], rows: Sequence[Any], room: int) -> int:
    """How many of ``rows``, in order, fit into ``room`` tokens with the rest of an answer; at least one. ``adapter``
    serializes a list of them."""
    left = max(1, room - token_budget.FRAME_TOKENS)
    if surely_fit(adapter, rows, left):
        return len(rows)
    written = list(map(serialize, prune(dump(adapter, list(rows)))))
    if sum(map(len, written)) <= CHARACTERS_PER_TOKEN * left:
        return len(written)
    return await token_budget.count_within(pool, written, left)


def surely_fit(adapter: TypeAdapter[Any], rows: Sequence[Any], room: int) -> bool:
    """Whether rows take no more than ``room`` tokens by any measure, without counting them."""
    return _most_characters(adapter, rows) <= CHARACTERS_PER_TOKEN * room


def _most_characters(adapter: TypeAdapter[Any], rows: Sequence[Any]) -> int:
    """No less than the rows have as they are sent, found in a tenth of the time that writing them takes: a blank more
    after every comma and colon, and empty values, which are left out then."""
    packed = adapter.dump_json(list(rows), exclude_none=True, exclude_defaults=True)
    return len(packed) + packed.count(b",") + packed.count(b":")


def count_row(adapter: TypeAdapter[Any], row: Any) -> int:
    """Tokens of one row as it is sent, and of what parts it from the next. ``adapter`` serializes a list of rows."""
    [written] = map(serialize, prune(dump(adapter, [row])))
    return TOKEN_COUNTS.of(written) + SEPARATOR
