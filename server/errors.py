"""The one table from failures to the wire: tool result, HTTP status, exit code. Nothing else formats errors."""

from __future__ import annotations

from typing import Any

from vaults.domain.disarming import visible
from vaults.errors import StrongroomError

HTTP_STATUS = {
    "invalid_argument": 400,
    "not_found": 404,
    "already_exists": 409,
    "conflict": 409,
    "forbidden": 403,
    "confirmation_required": 409,
    "quota_exceeded": 429,
    "rate_limited": 429,
    "overloaded": 503,
    "too_large": 413,
    "storage_full": 507,
    "read_only": 403,
    "index_unavailable": 503,
    "embedding_unavailable": 503,
    "vault_unavailable": 503,
    "vault_quarantined": 503,
    "timeout": 504,
    "cancelled": 499,
    "internal": 500,
}

CODES = frozenset(HTTP_STATUS)
"""Every code a caller may meet: a closed set, also as a metric label."""

EXIT_OK, EXIT_FAILED, EXIT_USAGE = 0, 1, 2


def as_content(failure: StrongroomError) -> dict[str, Any]:
    """``structuredContent.error`` of a failed call."""
    error: dict[str, Any] = {"code": failure.code, "message": failure.message, "retryable": failure.retryable}
    if failure.hint:
        error["hint"] = failure.hint
    if failure.details:
        error["details"] = failure.details
    return {"error": error}


def as_text(failure: StrongroomError) -> str:
    """The same for a model that reads only text."""
    hint = f" Hint: {_stopped(failure.hint)}" if failure.hint else ""
    return f"{failure.code}: {_stopped(failure.message)}{hint}"


def _stopped(sentence: str) -> str:
    sentence = visible(" ".join(sentence.splitlines()))  # it may name what a caller gave
    return sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."
