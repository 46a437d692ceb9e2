"""Numbers in sentences. Pure."""

from __future__ import annotations


def pluralize(count: int, one: str, several: str | None = None) -> str:
    """``1 note``, ``2 notes``; ``several`` where it is not ``one`` with an s."""
    return f"{count} {one if count == 1 else several or f'{one}s'}"
