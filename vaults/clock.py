"""Wall time for people, as RFC 3339 UTC text. Nothing here orders events or expires leases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from vaults.errors import InvalidArgument


def now() -> str:
    """The present, with milliseconds: ``2026-11-21T22:43:48.123Z``."""
    return text(datetime.now(UTC))


def text(moment: datetime) -> str:
    """``moment`` in the stored form; a moment without a zone counts as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parsed(value: str, field: str) -> str:
    """Caller's time in the stored form: a date, or a date and time, any zone. Raises ``InvalidArgument``."""
    try:
        return text(datetime.fromisoformat(value.strip()))
    except (ValueError, OverflowError) as failure:
        raise InvalidArgument(
            field, "must be an RFC 3339 time, such as 2026-11-21T09:30:00Z or 2026-11-21"
        ) from failure


def in_days(days: float) -> str:
    """The moment ``days`` from now."""
    return text(datetime.now(UTC) + timedelta(days=days))


def ago(seconds: float) -> str:
    """The moment ``seconds`` before now."""
    return text(datetime.now(UTC) - timedelta(seconds=seconds))


def age_s(moment: str) -> float:
    """Seconds since a stored moment; none for one that is still to come, because somebody set the clock back."""
    return max(0.0, (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds())
