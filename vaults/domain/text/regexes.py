"""Patterns from callers, compiled so that no text makes them slow."""

from __future__ import annotations

from typing import Any

from vaults.errors import InvalidArgument

MAX_PATTERN_LENGTH = 1_000
"""Max characters of a pattern."""

_MAX_MEMORY = 2**21  # bytes; RE2 takes a slower way beyond it, which is linear as well


def compile_pattern(pattern: str, field: str, *, hint: str | None = None) -> Any:
    """``pattern`` compiled by RE2. Raises ``InvalidArgument`` for ``field`` when it is not valid."""
    import re2

    if len(pattern) > MAX_PATTERN_LENGTH * 8:
        raise InvalidArgument(field, "is too long")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    try:
        return re2.compile(pattern, options=options)
    except re2.error as failure:
        refusal = InvalidArgument(field, "is no pattern that can be read", hint=hint)
        raise refusal from failure
