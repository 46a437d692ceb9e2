"""Times of other systems, in whatever unit and form (vaults.sources.times); the records vaults.sources.source describes
have them as text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.sources.times import to_rfc3339


@pytest.mark.parametrize(
    "value",
    [
        1765672231.5,
        1765672231500,
        1765672231500000,
        1765672231500000000,
        "1765672231.5",
        "1765672231500",
        "2025-12-14T00:30:31.500Z",
        "2025-12-14T01:30:31.5+01:00",
        " 2025-12-14 00:30:31.5 ",
    ],
)
def test_every_unit_and_form_means_the_same_moment(value: Any) -> None:
    assert to_rfc3339(value) == "2025-12-14T00:30:31.500Z"


@pytest.mark.parametrize("value", [None, "", "never", True, [], {}, float("nan"), float("inf"), 10**30, "99999-01-01"])
def test_what_is_no_time_is_none(value: Any) -> None:
    assert to_rfc3339(value) is None


def test_dates_without_a_time_begin_the_day() -> None:
    assert to_rfc3339("2025-12-14") == "2025-12-14T00:00:00.000Z"


@given(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30))
def test_nothing_raises(value: Any) -> None:
    found = to_rfc3339(value)
    assert found is None or found.endswith("Z")
