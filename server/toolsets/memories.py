"""Memories as the old tools hand them out: whole, whatever a search cuts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from server.toolsets.old_tool import OldToolRefusal, OurTools
from vaults.domain.text.titles import derive_title

_AT_ONCE = 50
"""Ids ``memory_get`` takes."""

WHOLE = 100_000
"""Tokens of an answer at most: those systems know no bound."""


async def found_memories(ask: OurTools, **arguments: Any) -> list[dict[str, Any]]:
    """What ``recall`` finds, each hit with its title and its whole content."""
    hits = (await ask("recall", max_tokens=WHOLE, **arguments))["hits"]
    cut = [each["id"] for each in hits if each.get("content") is None]
    whole = await read_whole(ask, cut)
    return [_with_text(hit, whole.get(hit["id"], {}).get("content", "")) for hit in hits]


async def read_whole(ask: OurTools, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Memories by their ids."""
    whole: dict[str, dict[str, Any]] = {}
    for start in range(0, len(ids), _AT_ONCE):
        opened = await ask("memory_get", ids=list(ids[start : start + _AT_ONCE]))
        whole |= {each["id"]: each for each in opened["memories"]}
    return whole


def _with_text(hit: dict[str, Any], content: str) -> dict[str, Any]:
    text = hit.get("content") or content or hit.get("snippet") or ""
    return {**hit, "content": text, "title": hit["title"] or derive_title(text)}


async def one_memory(ask: OurTools, memory_id: str, missing: str) -> dict[str, Any]:
    """A memory by its id. Raises ``OldToolRefusal`` saying ``missing``."""
    if 0 < len(memory_id) <= 64:
        found = (await ask("memory_get", ids=[memory_id]))["memories"]
        if found:
            return dict(found[0])
    raise OldToolRefusal(missing, "not_found")


def tier_of(memory: Mapping[str, Any]) -> str:
    """Their fourth tier is a state here."""
    return "archived" if memory.get("archived_at") else memory["tier"]
