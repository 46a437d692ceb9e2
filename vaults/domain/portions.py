"""As much of an answer as its budget of tokens holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from vaults.context import run_in
from vaults.domain.packs.rendering import spaced
from vaults.domain.packs.tokens import COUNTS
from vaults.search import budget
from vaults.vault import Vault

T = TypeVar("T")


async def fitted(vault: Vault, rows: Sequence[T], max_tokens: int) -> list[T]:
    """As many of ``rows``, in order, as fit when they are sent as JSON; at least one of them."""
    return list(rows[: await fitting(vault, list(map(as_sent, rows)), max_tokens)]) if rows else []


def as_sent(row: Any) -> str:
    """A row as JSON, without what says nothing."""
    if not is_dataclass(row) or isinstance(row, type):
        return spaced(row)
    kept = {name: value for name, default in _defaults(type(row)) if (value := getattr(row, name)) != default}
    return spaced(kept)


@cache
def _defaults(kind: type[Any]) -> list[tuple[str, Any]]:
    made = ((each.name, each.default_factory) for each in fields(kind))
    factories = {name: make() for name, make in made if make is not MISSING}
    return [(each.name, factories.get(each.name, each.default)) for each in fields(kind)]


FRAME = 100
"""Tokens of an answer beside its rows: head, fence, totals, a cursor, how to go on."""


async def fitting(vault: Vault, texts: Sequence[str], max_tokens: int) -> int:
    """How many of ``texts``, in order, fit into an answer of ``max_tokens``; at least one. Counted only where it
    matters, and on a thread where that takes long."""
    room = max(1, max_tokens - FRAME)
    if budget.surely_within(texts, room):
        return len(texts)
    if budget.is_quick(texts):
        return first_within(texts, room)
    return await run_in(vault.shared.pool, first_within, texts, room)


def first_within(texts: Sequence[str], room: int) -> int:
    """How many of ``texts``, in order, take ``room`` tokens together; at least one. What is counted here need not be
    counted again as the answer is sent."""
    used = 0
    for number, text in enumerate(texts):
        used += COUNTS.of(f"{text}, ")
        if used > room:
            return max(1, number)
    return len(texts)
