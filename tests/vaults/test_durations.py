import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.durations import format_duration, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("5m", 300),
        ("12h", 43_200),
        ("30d", 2_592_000),
        ("1w", 604_800),
        ("3mo", 7_776_000),
        ("1y", 31_536_000),
        ("0s", 0),
    ],
)
def test_a_duration_is_one_number_and_one_unit(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "30",
        "d",
        "1d12h",
        "-1d",
        "1.5d",
        " 1d",
        "1d ",
        "1 d",
        "1D",
        "1Y",
        "1M",
        "1mon",
        "1 mo",
        "٣d",
        "1" * 10 + "s",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="such as 90s, 30d or 1w"):
        parse_duration(text)


@given(st.integers(min_value=0, max_value=999_999_999))
def test_formatting_is_exact(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


def test_a_negative_duration_cannot_be_written() -> None:
    with pytest.raises(ValueError):
        format_duration(-1)


@pytest.mark.parametrize(
    ("text", "size"),
    [("500MB", 500_000_000), ("2gb", 2_000_000_000), ("64KiB", 65_536), ("1 TB", 10**12), ("10b", 10), ("0kb", 0)],
)
def test_a_size_is_one_number_and_one_unit(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "500", "MB", "1ib", "1.5MB", "-1MB", "1  MB", "1PB", "1MBx", "٣MB"])
def test_any_other_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="such as 500MB"):
        parse_size(text)
