"""As much of an answer as its budget of tokens holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from vaults.context import run_in
from vaults.domain.packs.rendering import spaced
from vaults.search import budget
from vaults.vault import Vault

T = TypeVar("T")


async def fitted(vault: Vault, rows: Sequence[T], max_tokens: int) -> list[T]:
    """As many of ``rows``, in order, as fit when they are sent as JSON; at least one of them."""
    return list(rows[: await fitting(vault, [spaced(row) for row in rows], max_tokens)]) if rows else []


async def fitting(vault: Vault, texts: Sequence[str], max_tokens: int) -> int:
    """How many of ``texts``, in order, fit into ``max_tokens`` together; at least one. Counted only where it matters,
    and on a thread where that takes long."""
    if budget.surely_within(texts, max_tokens):
        return len(texts)
    if budget.is_quick(texts):
        return budget.fitting(texts, max_tokens)
    return await run_in(vault.shared.pool, budget.fitting, texts, max_tokens)
