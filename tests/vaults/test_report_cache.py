"""A report holds for the state of the vault it was made at, and for a span of time."""

from __future__ import annotations

import pytest

from vaults.report_cache import MAX_REPORTS, KeptReport, ReportCache


@pytest.mark.parametrize(
    ("version", "at", "until", "holds"),
    [
        (7, "b", None, True),
        (7, "y", None, True),
        (8, "b", None, False),
        (7, "a", None, False),
        (7, "b", "c", True),
        (7, "c", "c", False),
    ],
)
def test_a_report_holds_until_the_vault_or_time_changes_it(
    version: int, at: str, until: str | None, holds: bool
) -> None:
    assert KeptReport(7, "b", until, "found").holds(version, at) is holds


def test_the_reports_asked_for_last_are_kept() -> None:
    cache = ReportCache()
    for number in range(MAX_REPORTS):
        cache.keep(number, KeptReport(1, "", None, number))
    assert cache.get(0) is not None
    cache.keep("one more", KeptReport(1, "", None, "more"))
    assert cache.get(1) is None
    assert cache.get(0) is not None
    cache.clear()
    assert cache.get(0) is None
