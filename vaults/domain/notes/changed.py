"""What a tool says of the note it changed."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Changed:
    """``path``: where the note is now. ``etag``: of the version that stands there, None where none does. ``changed``:
    False where everything was so already, or on a dry run. ``change``: the id ``history`` takes it back by.
    ``region``: only the lines that changed, ``first_line`` to ``last_line`` from 1. ``diff``: on a dry run, what would
    change."""

    path: str
    etag: str | None
    changed: bool
    warnings: list[str] = field(default_factory=list)
    change: str | None = None
    region: str | None = None
    first_line: int | None = None
    last_line: int | None = None
    diff: str | None = None
