"""What is installed may be passed on, and the page that says so is true."""

from __future__ import annotations

import re

import pytest

from tests.contracts.licences import LISTS, PAGE, PERMISSIVE, RECIPROCAL, licences, page


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make docs"


@pytest.mark.parametrize("name", LISTS)
def test_no_licence_asks_more_than_to_be_named(name: str) -> None:
    asked = {package: set(re.split(r" (?:AND|OR) ", licence)) for package, _, licence in licences(name)}
    assert len(asked) > 20
    assert {package: each for package, each in asked.items() if package not in RECIPROCAL and each - PERMISSIVE} == {}
