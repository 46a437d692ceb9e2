"""Tokens of an answer. What a tool counts to fill its page is not counted again as it is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

from pydantic import TypeAdapter

from vaults.context import run_in
from vaults.domain import portions
from vaults.domain.packs.tokens import COUNTS
from vaults.search import budget

SPARE = 0.95
"""Share of a budget below which the text need not be counted once the JSON is."""

SHORTER = 0.85
"""Share of the JSON's length that a text has at most of which the JSON says everything: names of fields are left out.
A longer one spells something out, and is counted."""


def sent(value: Any) -> str:
    """A value as a client writes it for its model."""
    return json.dumps(value, ensure_ascii=False)


def json_tokens(content: Mapping[str, Any]) -> int:
    """Tokens of the JSON, row by row: a border between two rows is counted with both, so never too few."""
    used = 2
    for name, value in content.items():
        used += COUNTS.of(f'"{name}": , ')
        if isinstance(value, list):
            used += 2 + sum(COUNTS.of(f"{sent(each)}, ") for each in value)
        else:
            used += COUNTS.of(sent(value))
    return used


def tokens(content: Mapping[str, Any], text: str, room: int) -> int:
    """Tokens of the longer form. The text is counted where it might be that."""
    used = json_tokens(content)
    if used <= room * SPARE and len(text) <= SHORTER * len(sent(content)):
        return used
    return max(used, budget.count(text))


async def fitting(pool: Executor, adapter: TypeAdapter[Any], rows: Sequence[Any], room: int) -> int:
    """How many of ``rows``, in order, fit into ``room`` tokens beside the rest of an answer; at least one. ``adapter``
    writes a list of them."""
    dumped = adapter.dump_python(list(rows), mode="json", exclude_none=True, exclude_defaults=True)
    written, left = list(map(sent, dumped)), max(1, room - portions.FRAME)
    if budget.surely_within(written, left):
        return len(written)
    if budget.is_quick(written):
        return portions.first_within(written, left)
    return await run_in(pool, portions.first_within, written, left)
