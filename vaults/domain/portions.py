"""As much of an answer as its budget of tokens holds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from vaults.context import run_in
from vaults.search import budget
from vaults.vault import Vault

T = TypeVar("T")

FRAME = 100
"""Tokens of an answer beside its rows: head, fence, totals, a cursor, how to go on."""


async def fitted(vault: Vault, rows: Sequence[T], max_tokens: int) -> list[T]:
    """As many of ``rows``, in order, as fit when they are sent as JSON; at least one of them."""
    return list(rows[: await fitting(vault, list(map(sent, rows)), max_tokens)]) if rows else []


def sent(row: object) -> str:
    """A row as the JSON that is sent of it, which leaves out what is empty and what is by default."""
    return json.dumps(_said(row), ensure_ascii=False)


def _said(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        pairs = ((name, default, getattr(value, name)) for name, default in _defaults(type(value)))
        return {name: _said(said) for name, default, said in pairs if said is not None and said != default}
    if isinstance(value, Mapping):
        return {name: _said(each) for name, each in value.items()}
    return [_said(each) for each in value] if isinstance(value, list | tuple) else value


@cache
def _defaults(kind: type[Any]) -> list[tuple[str, Any]]:
    factories = ((each, each.default_factory) for each in fields(kind))
    return [(each.name, make() if make is not MISSING else each.default) for each, make in factories]


async def fitting(vault: Vault, texts: Sequence[str], max_tokens: int) -> int:
    """How many of ``texts``, in order, fit into an answer of ``max_tokens``; at least one. Counted only where it
    matters, and on a thread where that takes long."""
    room = max(1, max_tokens - FRAME)
    if budget.surely_within(texts, room):
        return len(texts)
    if budget.is_quick(texts):
        return budget.fitting(texts, room)
    return await run_in(vault.shared.pool, budget.fitting, texts, room)
