"""Every failure a caller may meet, with its stable code.

::

    StrongroomError
    ├── InvalidArgument        invalid_argument        bad input; names the field
    ├── NotFound               not_found               absent, or not yours: never told apart
    ├── AlreadyExists          already_exists
    ├── Conflict               conflict                carries the current version
    ├── Forbidden              forbidden
    ├── ConfirmationRequired   confirmation_required
    ├── QuotaExceeded          quota_exceeded
    ├── RateLimited            rate_limited            retryable, says when
    ├── Overloaded             overloaded              retryable, says when
    ├── TooLarge               too_large
    ├── StorageFull            storage_full            retryable
    ├── ReadOnly               read_only
    ├── IndexUnavailable       index_unavailable       retryable
    ├── EmbeddingUnavailable   embedding_unavailable   retryable
    ├── VaultUnavailable       vault_unavailable       retryable
    ├── VaultQuarantined       vault_quarantined       only that vault; says why
    ├── AuditUnavailable       audit_unavailable       retryable, but not where the change was made already
    ├── Timeout                timeout                 retryable
    ├── Cancelled              cancelled               names the outcome of a call its caller gave up
    └── Internal               internal                a reference that stands in the log, nothing else

Messages are written for the model or person who has to act on them. They never hold exception text, SQL, or
paths outside the vault.
"""

from __future__ import annotations

from typing import Any, ClassVar


class StrongroomError(Exception):
    """Base of the tree. ``hint`` says what to do next; ``details`` is machine-readable and JSON-safe."""

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str | None = None, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details


class InvalidArgument(StrongroomError):
    """Input that does not fit. Raised with the field's name and what is wrong with it."""

    code = "invalid_argument"

    def __init__(self, field: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"Validation error: {field} {reason}", hint=hint, field=field)


class NotFound(StrongroomError):
    code = "not_found"


class AlreadyExists(StrongroomError):
    code = "already_exists"


class Conflict(StrongroomError):
    code = "conflict"


class Forbidden(StrongroomError):
    code = "forbidden"


class ConfirmationRequired(StrongroomError):
    code = "confirmation_required"


class QuotaExceeded(StrongroomError):
    """The details say ``what`` is used up and whose (``scope``), ``limit``, ``used``, ``left``, and for a day
    ``resets_at``."""

    code = "quota_exceeded"


class RateLimited(StrongroomError):
    """``retry_after_s`` stands in the details, in seconds."""

    code = "rate_limited"
    retryable = True

    def __init__(self, message: str, *, retry_after_s: float, hint: str | None = None, **details: Any) -> None:
        super().__init__(message, hint=hint, retry_after_s=retry_after_s, **details)


class Overloaded(StrongroomError):
    """``retry_after_s`` stands in the details, in seconds."""

    code = "overloaded"
    retryable = True

    def __init__(self, message: str, *, retry_after_s: float = 1.0, hint: str | None = None) -> None:
        super().__init__(message, hint=hint, retry_after_s=retry_after_s)


class TooLarge(StrongroomError):
    code = "too_large"


class StorageFull(StrongroomError):
    code = "storage_full"
    retryable = True


class ReadOnly(StrongroomError):
    code = "read_only"


class IndexUnavailable(StrongroomError):
    code = "index_unavailable"
    retryable = True


class EmbeddingUnavailable(StrongroomError):
    code = "embedding_unavailable"
    retryable = True


class VaultUnavailable(StrongroomError):
    code = "vault_unavailable"
    retryable = True


class VaultQuarantined(StrongroomError):
    code = "vault_quarantined"


class AuditUnavailable(StrongroomError):
    """The audit cannot be written, so nothing was changed."""

    code = "audit_unavailable"
    retryable = True


class ChangeNotAudited(AuditUnavailable):
    """The change was made, and then the audit could not take it: trying again would make it twice."""

    retryable = False


class Timeout(StrongroomError):
    code = "timeout"
    retryable = True


class Cancelled(StrongroomError):
    code = "cancelled"


class Internal(StrongroomError):
    code = "internal"
