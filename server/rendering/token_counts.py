"""What is sent of a result, how many tokens it takes, and how many rows fit into an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
    return json.dumps(value, ensure_ascii=False)


def count_tokens(content: Mapping[str, Any], written: str, text: str, room: int) -> int:
    """Tokens of the longer form: of ``content``, which is sent as ``written``, or of ``text``. A count above ``room``
    is exact; one that fits is never too low."""
    used = _count_row_by_row(content)
    if used > room:
        used = tokenizer.count_tokens(written)
    return used if len(text) <= TEXT_TO_JSON * len(written) else max(used, tokenizer.count_tokens(text))


def _count_row_by_row(content: Mapping[str, Any]) -> int:
    """Tokens of an object, its rows counted one by one: their counts are cached from when they were chosen, or from an
    earlier answer."""
    lists = {name: rows for name, rows in content.items() if isinstance(rows, list) and len(rows) > 1}
    rest = serialize({name: [] if name in lists else each for name, each in content.items()})
    return tokenizer.count_tokens(rest) + sum(
        TOKEN_COUNTS.of(serialize(row)) + SEPARATOR for rows in lists.values() for row in rows
    )


async def count_fitting(pool: Executor, adapter: TypeAdapter[Any], rows: Sequence[Any], room: int) -> int:
    """How many of ``rows``, in order, fit into ``room`` tokens with the rest of an answer; at least one. ``adapter``
    serializes a list of them."""
    written, left = list(map(serialize, prune(dump(adapter, list(rows))))), max(1, room - token_budget.FRAME_TOKENS)
    if sum(map(len, written)) <= CHARACTERS_PER_TOKEN * left:
        return len(written)
    return await token_budget.count_within(pool, written, left)


def count_row(adapter: TypeAdapter[Any], row: Any) -> int:
    """Tokens of one row as it is sent, and of what parts it from the next. ``adapter`` serializes a list of rows."""
    [written] = map(serialize, prune(dump(adapter, [row])))
    return TOKEN_COUNTS.of(written) + SEPARATOR
