"""As much of an answer as its budget of tokens holds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, TypeVar

from vaults.context import run_in
from vaults.search import budget
from vaults.vault import Vault

T = TypeVar("T")


async def fitted(vault: Vault, rows: Sequence[T], max_tokens: int) -> list[T]:
    """As many of ``rows``, in order, as fit when they are sent as JSON; at least one of them."""
    return list(rows[: await fitting(vault, [sent(row) for row in rows], max_tokens)]) if rows else []


def sent(row: object) -> str:
    """A row as the JSON that is sent of it, which leaves out what is empty and what is by default."""
    return json.dumps(_said(row), ensure_ascii=False)


def _said(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        pairs = ((each, getattr(value, each.name)) for each in fields(value))
        return {each.name: _said(said) for each, said in pairs if said is not None and said != _default(each)}
    if isinstance(value, Mapping):
        return {name: _said(each) for name, each in value.items()}
    return [_said(each) for each in value] if isinstance(value, list | tuple) else value


def _default(each: Field[Any]) -> Any:
    return each.default_factory() if each.default_factory is not MISSING else each.default


async def fitting(vault: Vault, texts: Sequence[str], max_tokens: int) -> int:
    """How many of ``texts``, in order, fit into ``max_tokens`` together; at least one. Counted only where it matters,
    and on a thread where that takes long."""
    if budget.surely_within(texts, max_tokens):
        return len(texts)
    if budget.is_quick(texts):
        return budget.fitting(texts, max_tokens)
    return await run_in(vault.shared.pool, budget.fitting, texts, max_tokens)
