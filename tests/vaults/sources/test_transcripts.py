"""What conversations of every system have in common."""

from __future__ import annotations

import pytest

from vaults.sources.transcripts import find_format, to_document, to_part


@pytest.mark.parametrize("text", [None, "", " \n", "\x00", 7, ["x"]])
def test_a_part_without_text_is_none(text: object) -> None:
    assert to_part(text, role="user") is None


def test_a_part_has_only_what_says_something() -> None:
    part = to_part(" a\x00b ", role="user", author="", heading="x\ny", at=1765672231, thinking=None)
    assert part == {"text": "ab", "role": "user", "heading": "x y", "at": "2025-12-14T00:30:31.000Z"}


def test_a_document_needs_a_part() -> None:
    assert to_document([None], external_id="x") is None
    document = to_document(
        [None, to_part("a")], external_id="x", title="t" * 600, created_at="never", metadata={"a": None}
    )
    assert document is not None
    assert (document["kind"], document["parts"], len(document["title"])) == ("document", [{"text": "a"}], 500)
    assert {"created_at", "metadata"}.isdisjoint(document)


def test_the_format_follows_from_the_name() -> None:
    names = ("a.MD", "b.py", "c.pdf", "README")
    assert [find_format(name) for name in names] == ["markdown", "code", "text", "text"]
