"""A failure as a tool result, for programs and for models. Nothing else formats errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vaults.advice import Audience, render_for
from vaults.domain.text.sanitize import escape_hidden
from vaults.errors import StrongroomError

HTTP_STATUS: Mapping[str, int] = {
    "invalid_argument": 422,
    "not_found": 404,
    "already_exists": 409,
    "conflict": 409,
    "confirmation_required": 409,
    "cancelled": 409,
    "forbidden": 403,
    "read_only": 403,
    "too_large": 413,
    "quota_exceeded": 429,
    "rate_limited": 429,
    "storage_full": 507,
    "overloaded": 503,
    "index_unavailable": 503,
    "embedding_unavailable": 503,
    "vault_unavailable": 503,
    "vault_quarantined": 503,
    "audit_unavailable": 503,
    "timeout": 504,
    "internal": 500,
}
"""The HTTP status of each code of ``vaults.errors``."""


def to_content(failure: StrongroomError, audience: Audience | None = None) -> dict[str, Any]:
    """``structuredContent.error`` of a failed call. The hint names no tool that is not shown to the ``audience``."""
    error: dict[str, Any] = {"code": failure.code, "message": failure.message, "retryable": failure.retryable}
    if hint := _hint(failure, audience):
        error["hint"] = hint
    if failure.details:
        error["details"] = failure.details
    return {"error": error}


def to_text(failure: StrongroomError, audience: Audience | None = None) -> str:
    """The same for a model that reads only text."""
    hint = _hint(failure, audience)
    return f"{failure.code}: {_end_sentence(failure.message)}" + (f" Hint: {_end_sentence(hint)}" if hint else "")


def _hint(failure: StrongroomError, audience: Audience | None) -> str:
    hint = failure.hint or ""
    return hint if audience is None else render_for(hint, audience)


def _end_sentence(sentence: str) -> str:
    sentence = escape_hidden(" ".join(sentence.splitlines()))  # it may name what a caller gave
    return sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."
