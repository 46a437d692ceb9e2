"""What kinds of memory there are."""

from __future__ import annotations

from typing import Literal, get_args

MemoryType = Literal[
    "learning",
    "error",
    "decision",
    "plan",
    "fact",
    "preference",
    "observation",
    "summary",
    "episodic",
    "thinking",
    "raw",
]
MEMORY_TYPES: tuple[str, ...] = get_args(MemoryType)
