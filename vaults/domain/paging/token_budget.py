"""Cuts answers to their token budget."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar

from vaults.context import run_in
from vaults.search import tokenizer
from vaults.search.token_counts import TOKEN_COUNTS

if TYPE_CHECKING:
    from vaults.vault import Vault

T = TypeVar("T")

_PLAIN = frozenset({str, int, float, bool, NoneType})

FRAME_TOKENS = 100
"""Tokens of an answer besides its rows: head, fence, totals, a cursor, how to go on."""


async def fit_rows(vault: Vault, rows: Sequence[T], max_tokens: int) -> list[T]:
    """As many of ``rows``, in order, as fit when sent as JSON; at least one."""
    return list(rows[: await count_fitting(vault, list(map(to_sent_json, rows)), max_tokens)]) if rows else []


def to_sent_json(row: object) -> str:
    """A row as the JSON that is sent, without empty and default values."""
    return json.dumps(_without_defaults(row), ensure_ascii=False)


def _without_defaults(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {
            name: each if type(each) in _PLAIN else _without_defaults(each)
            for name, each in non_default_fields(value).items()
        }
    if isinstance(value, Mapping):
        return {name: _without_defaults(each) for name, each in value.items()}
    return list(map(_without_defaults, value)) if isinstance(value, list | tuple) else value


def non_default_fields(value: Any) -> dict[str, Any]:
    """Fields of a dataclass that are neither None nor at their default."""
    pairs = [(name, default, getattr(value, name)) for name, default in _defaults(value.__class__)]
    return {name: current for name, default, current in pairs if current is not None and current != default}


@cache
def _defaults(kind: type[Any]) -> list[tuple[str, Any]]:
    factories = ((each, each.default_factory) for each in fields(kind))
    return [(each.name, make() if make is not MISSING else each.default) for each, make in factories]


async def count_fitting(vault: Vault, texts: Sequence[str], max_tokens: int) -> int:
    """How many of ``texts``, in order, fit into an answer of ``max_tokens``; at least one."""
    return await count_within(vault.shared.pool, texts, max(1, max_tokens - FRAME_TOKENS))


async def count_within(pool: Executor, texts: Sequence[str], room: int) -> int:
    """How many of ``texts``, in order, fit into ``room`` tokens; at least one. Tokens are counted only where it
    matters, and on a thread where that takes long."""
    if tokenizer.surely_fits(texts, room):
        return len(texts)
    if tokenizer.is_quick_to_count(texts):
        return tokenizer.count_fitting(texts, room, TOKEN_COUNTS.of)
    return await run_in(pool, tokenizer.count_fitting, texts, room, TOKEN_COUNTS.of)
