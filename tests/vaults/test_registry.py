"""Names of vaults."""

from __future__ import annotations

import pytest

from vaults.registry import is_valid_name


@pytest.mark.parametrize("name", ["a", "main", "team-1", "a.b_c", "x" * 63, "0"])
def test_plain_names_are_names(name: str) -> None:
    assert is_valid_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "A",
        "a\n",
        "\na",
        "a b",
        "-a",
        "a-",
        ".",
        "..",
        "a..b",
        "a/b",
        "a\\b",
        "con",
        "nul.txt",
        "x" * 64,
        "é",
        "a\x00",
    ],
)
def test_what_some_system_reads_otherwise_is_no_name(name: str) -> None:
    assert not is_valid_name(name)
