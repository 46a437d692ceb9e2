"""Ids stay what they are, and those that must be cut still differ."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaults.sources.record_fields import to_label
from vaults.sources.record_ids import to_external_id


def test_an_id_that_fits_is_readable() -> None:
    assert to_external_id("markdown", "note", "a b/c.md") == "markdown:note:a b/c.md"


def test_a_long_one_ends_in_a_digest() -> None:
    one, other = (to_external_id("x", "é" * 300 + end) for end in "ab")
    assert one != other
    assert len(one) <= 190


@given(st.text(max_size=40), st.text(max_size=40))
def test_ids_that_differ_stay_different_and_are_labels(one: str, other: str) -> None:
    first, second = to_external_id("x", one), to_external_id("x", other)
    assert (first == second) == (one == other)
    assert to_label(first) == first
