"""What a parser makes of a file: parts in reading order, each with its place there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

ParseProblem = Literal[
    "unsupported", "encrypted", "damaged", "too_large", "too_deep", "empty", "timeout", "memory", "crashed", "missing"
]
"""Why a file could not be read. ``missing``: the library that reads it is not installed."""


class ParseFailed(Exception):
    """A file that cannot be read. ``message`` is for people, and names no path and nothing of what the file says."""

    def __init__(self, problem: ParseProblem, message: str) -> None:
        super().__init__(message)
        self.problem = problem
        self.message = message


@dataclass(frozen=True, slots=True)
class ParsedPart:
    """A page, section, slide, sheet range, cell or message. ``heading``: the headings above it, joined by " › ";
    ``locator``: its place for people, such as "page 12", "slide 3", "sheet Costs, rows 2–40", "lines 10–42"."""

    text: str
    heading: str | None = None
    locator: str | None = None
    author: str | None = None
    at: str | None = None


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A file as parts. ``format``: a name of ``formats.known``; times are RFC 3339 in UTC. ``warnings``: what was left
    out, and why; ``source_hash``: SHA-256 of the bytes, in hex, which ``vaults.parsing`` sets."""

    format: str
    mime: str
    parts: tuple[ParsedPart, ...]
    title: str | None = None
    author: str | None = None
    created_at: str | None = None
    modified_at: str | None = None
    warnings: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    source_hash: str | None = None


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """What one file may cost. Sizes in bytes; ``seconds`` of a worker's time, ``memory`` of its address space."""

    seconds: float = 60.0
    memory: int = 1024**3
    size: int = 100 * 1024**2
    pages: int = 2000
    depth: int = 200
    decompressed: int = 512 * 1024**2
    characters: int = 20_000_000
