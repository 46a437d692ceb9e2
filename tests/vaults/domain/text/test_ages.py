from __future__ import annotations

import pytest

from vaults.domain.text.ages import format_age

NOW = "2026-11-22T12:00:00.000Z"


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("2026-11-22T11:59:30.000Z", "now"),
        ("2026-11-22T11:58:00.000Z", "2m ago"),
        ("2026-11-22T09:00:00.000Z", "3h ago"),
        ("2026-11-01T12:00:00.000Z", "21d ago"),
        ("2023-05-08T12:00:00.000Z", "3y ago"),
        ("2027-01-01T00:00:00.000Z", "now"),
        ("someday", "someday"),
    ],
)
def test_ages_are_short_and_never_negative(at: str, said: str) -> None:
    assert format_age(at, NOW) == said
