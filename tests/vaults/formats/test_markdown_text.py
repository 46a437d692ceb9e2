"""Markdown, with ``vaults.formats.moments``."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pytest

from tests.vaults.formats.made_files import read
from vaults.formats.moments import to_moment

NOTE = """---
title: The plan
author: [Ann, Bob]
date: 2024-01-02
tags: [a, b]
---
Before all.

# One

Text.

## Empty

## Code

```sh
# no heading
```

# Last
"""


def test_sections_stand_under_their_headings_with_their_lines() -> None:
    parsed = read(NOTE.encode(), "plan.md")
    assert [(part.heading, part.text, part.locator) for part in parsed.parts] == [
        (None, "Before all.", "line 7"),
        ("One", "Text.", "line 11"),
        ("One › Empty", "Empty", "line 13"),
        ("One › Code", "```sh\n# no heading\n```", "lines 17–19"),
        ("Last", "Last", "line 21"),
    ]


def test_frontmatter_says_title_author_and_dates() -> None:
    parsed = read(NOTE.encode(), "plan.md")
    assert (parsed.title, parsed.author, parsed.created_at) == ("The plan", "Ann, Bob", "2024-01-02T00:00:00.000Z")
    assert parsed.metadata == {"tags": ["a", "b"]}


def test_frontmatter_that_is_broken_is_said_and_costs_nothing_else() -> None:
    parsed = read(b"---\na: [\n---\n# Title\n\ntext", "plan.md")
    assert parsed.title == "Title"
    assert parsed.parts[0].text == "text"
    assert parsed.warnings[0].startswith("frontmatter: ")


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2024-01-02", "2024-01-02T00:00:00.000Z"),
        ("2024-01-02T03:04:05+01:00", "2024-01-02T02:04:05.000Z"),
        ("Tue, 02 Jan 2024 03:04:05 -0100", "2024-01-02T04:04:05.000Z"),
        ("D:20240102030405-01'30'", "2024-01-02T04:34:05.000Z"),
        ("D:2024", "2024-01-01T00:00:00.000Z"),
        (date(2024, 1, 2), "2024-01-02T00:00:00.000Z"),
        (datetime(2024, 1, 2, 3, tzinfo=timezone(timedelta(hours=2))), "2024-01-02T01:00:00.000Z"),
        ("D:99999999", None),
        ("soon", None),
        ("", None),
        (7, None),
    ],
)
def test_dates_of_any_kind_become_moments(written: object, moment: str | None) -> None:
    assert to_moment(written) == moment
