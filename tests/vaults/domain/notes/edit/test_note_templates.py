"""Notes that begin as a template: where the content goes."""

from __future__ import annotations

from datetime import date

import pytest

from vaults.domain.notes.edit.note_templates import instantiate

DAY = date(2026, 3, 1)


@pytest.mark.parametrize(
    ("template", "content", "made"),
    [
        ("# {{title}}\n", "", "# Trip\n"),
        ("# {{title}}\n{{content}}\nend\n", "a\nb", "# Trip\na\nb\nend\n"),
        ("# {{ title }}", "a", "# Trip\na"),
        ("{{date}}\r\n", "a\nb", "2026-03-01\r\na\r\nb"),
        ("", "a", "a"),
        ("{{content}}{{content}}", "{{title}}", "{{title}}{{title}}"),
    ],
)
def test_content_fills_its_place_or_goes_to_the_end(template: str, content: str, made: str) -> None:
    assert instantiate(template, "deep/Trip.md", DAY, content) == (made, [])
