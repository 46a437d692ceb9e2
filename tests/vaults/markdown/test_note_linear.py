"""Hostile texts: reading never raises, and twice the text takes about twice the time."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.work import assert_linear, examples
from vaults.markdown.parser import parse

SHAPES = {
    "brackets": lambda n: "[" * n,
    "closing brackets": lambda n: "]" * n,
    "wiki openers": lambda n: "[[a" * n,
    "aliases": lambda n: "[[a|b " * n,
    "image nest": lambda n: "![" * n + "](a)" * n,
    "link nest": lambda n: "[" * n + "](a)" * n,
    "destinations": lambda n: "[a](<b " * n,
    "titles": lambda n: '[a](b "c' * n,
    "mixed titles": lambda n: "[a](b 'c \"d (e" * n,
    "parentheses": lambda n: "[a](" + "(" * n,
    "paths": lambda n: "](a" * n,
    "definitions": lambda n: "[a]: <b\n" * n,
    "labels": lambda n: "\n[" + "a" * n + "\n[b" * n,
    "quotes": lambda n: ">" * n,
    "quote lines": lambda n: "> " * 60 + "\n" + "> a\n" * n,
    "list nest": lambda n: "- " * n + "\n" * n,
    "deep lists": lambda n: "".join("  " * (i % 50) + "- a\n\n" for i in range(n)),
    "numbers": lambda n: "1. " * n,
    "fences": lambda n: "```\n" * n,
    "growing fences": lambda n: "".join("`" * (3 + i % 90) + "\n" for i in range(n // 9)),
    "unclosed quoted fence": lambda n: "> ```\n" * n,
    "fences in items": lambda n: "- ```\n" * n,
    "tilde openers": lambda n: "~~~ a\n" * n,
    "comments": lambda n: "a <!-- b\n\n" * n,
    "comment openers": lambda n: "a <!--" * n,
    "line comments": lambda n: "<!-- a\n" * n,
    "percents": lambda n: "a %% b\n\n" * n,
    "percent lines": lambda n: "%%\na\n\n" * n,
    "odd percents": lambda n: "%% a\n" * (n | 1),
    "runs": lambda n: "".join("`" * (i % 40 + 1) + " " for i in range(n // 9)),
    "backticks": lambda n: "`" * n,
    "code lines": lambda n: "`a\n" * n,
    "emphasis": lambda n: "*_" * n,
    "stars": lambda n: "* " * n + "a",
    "rules": lambda n: "- - " * n + "a\n",
    "tags": lambda n: "#a" * n,
    "hashes": lambda n: "#" * n,
    "heading of blanks": lambda n: "# a" + " " * n + "b" + " #" * n,
    "underlines": lambda n: "a\n" * n + "---\n" + "a\n---\n" * n,
    "lone tags": lambda n: "<a " + "b='c' " * n,
    "tag lines": lambda n: "<b>\n" * n,
    "attributes": lambda n: "<a b" * n,
    "elements": lambda n: "<div>\n" * n,
    "blocks": lambda n: " ^" * n,
    "callouts": lambda n: "> [!a] b\n" * n,
    "boxes": lambda n: "- [ ] " * n,
    "tabs": lambda n: "\t" * n + "- a",
    "blanks": lambda n: " " * n + "\n" + " " * n + "x",
    "returns": lambda n: "\r" * n,
    "setext walk": lambda n: ("- a\n" * 9 + "b\n===\n") * (n // 9),
    "frontmatter": lambda n: "---\n" + "- [[a]]\n" * n,
    "yaml nest": lambda n: "---\na: " + "[" * min(n, 60000) + "\n---\n",
    "yaml keys": lambda n: "---\n" + "a: {b: c}\n" * min(n, 6000) + "---\n",
    "one line": lambda n: "word [[a]] #b " * n,
    "lazy": lambda n: "- a\nb\n" * n + "  ```\n",
    "indented fences": lambda n: "a\n\n  b\n  ```x\n  ```\n" * (n // 9),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_twice_the_text_takes_about_twice_the_time(shape):
    assert_linear(parse, shape, 3_000)


@settings(max_examples=examples(300), deadline=None)
@given(st.text(alphabet="[]()!|#^`~-*+>=<%&@:. \t\r\n\\\"'0123ab/{}é📅\0\ud800", max_size=120))
def test_no_text_is_too_odd_to_read(text):
    note = parse(text)
    for link in note.links:
        assert text[link.target_start : link.target_end] == link.target
    for part in (*note.headings, *note.tasks, *note.blocks):
        assert 0 <= part.start <= part.end <= len(text)


@settings(max_examples=examples(150), deadline=None)
@given(st.text(max_size=80))
def test_nor_is_any_frontmatter(text):
    assert parse(f"---\n{text}\n---\n# Title\n").body_start >= 0
