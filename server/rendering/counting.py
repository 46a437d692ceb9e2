"""Tokens of an answer, and the rows that fit into one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

from pydantic import TypeAdapter

from vaults.context import run_in
from vaults.domain import portions
from vaults.search import budget

LIKELY = 2.2
"""Characters of JSON a token has at least, mostly. Rows of fewer are not counted: if they are too many after all, that
is seen when the answer is counted whole."""

SPARE = 0.95
"""Share of a budget below which the text need not be counted once the JSON is."""

SHORTER = 0.85
"""Share of the JSON's length that a text has at most of which the JSON says everything: names of fields are left out.
A longer one spells something out, and is counted."""


def sent(value: Any) -> str:
    """A value as a client writes it for its model."""
    return json.dumps(value, ensure_ascii=False)


def tokens(content: Mapping[str, Any], text: str, room: int) -> int:
    """Tokens of the longer form. The text is counted where it might be that."""
    written = sent(content)
    used = budget.count(written)
    if used <= room * SPARE and len(text) <= SHORTER * len(written):
        return used
    return max(used, budget.count(text))


async def fitting(pool: Executor, adapter: TypeAdapter[Any], rows: Sequence[Any], room: int) -> int:
    """How many of ``rows``, in order, fit into ``room`` tokens beside the rest of an answer; at least one. ``adapter``
    writes a list of them."""
    dumped = adapter.dump_python(list(rows), mode="json", exclude_none=True, exclude_defaults=True)
    written, left = list(map(sent, dumped)), max(1, room - portions.FRAME)
    if sum(map(len, written)) <= LIKELY * left:
        return len(written)
    if budget.is_quick(written):
        return budget.fitting(written, left)
    return await run_in(pool, budget.fitting, written, left)
