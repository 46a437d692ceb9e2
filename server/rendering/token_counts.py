"""What is sent of a result, its tokens, and the rows that fit into an answer."""

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
"""Characters of JSON a token has at least, mostly. Rows of fewer are not counted: if they are too many after all, that
is seen when the answer is counted whole."""

TEXT_TO_JSON = 0.85
"""Share of the JSON's length that a text has at most which need not be counted: it leaves out names of fields and
quotes. A longer one spells something out."""

SEPARATOR = 1
"""Tokens between two rows at most."""

FREE_FORM = frozenset({"metadata", "frontmatter", "state", "config", "kept"})
"""Objects that callers wrote or operators set: what is empty in them is said by somebody."""

_PLAIN = frozenset({str, int, float, bool})


def dump(adapter: TypeAdapter[Any], value: Any) -> Any:
    """A value as JSON types, without what is None or by default."""
    return adapter.dump_python(value, mode="json", exclude_none=True, exclude_defaults=True)


def prune(value: Any) -> Any:
    """JSON types without what is empty."""
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
    """Tokens of the longer form: of ``content``, which is sent as ``written``, or of ``text``. More than ``room`` is
    exact; what fits may take a few less."""
    used = _count_row_by_row(content)
    if used > room:
        used = tokenizer.count_tokens(written)
    return used if len(text) <= TEXT_TO_JSON * len(written) else max(used, tokenizer.count_tokens(text))


def _count_row_by_row(content: Mapping[str, Any]) -> int:
    """The tokens of an object, its rows counted one by one: they were counted when they were chosen, or for an answer
    before this one."""
    lists = {name: rows for name, rows in content.items() if isinstance(rows, list) and len(rows) > 1}
    rest = serialize({name: [] if name in lists else each for name, each in content.items()})
    return tokenizer.count_tokens(rest) + sum(
        TOKEN_COUNTS.of(serialize(row)) + SEPARATOR for rows in lists.values() for row in rows
    )


async def count_fitting(pool: Executor, adapter: TypeAdapter[Any], rows: Sequence[Any], room: int) -> int:
    """How many of ``rows``, in order, fit into ``room`` tokens beside the rest of an answer; at least one. ``adapter``
    writes a list of them."""
    written, left = list(map(serialize, prune(dump(adapter, list(rows))))), max(1, room - token_budget.FRAME_TOKENS)
    if sum(map(len, written)) <= CHARACTERS_PER_TOKEN * left:
        return len(written)
    return await token_budget.count_within(pool, written, left)
