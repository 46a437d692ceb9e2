"""Where in a note no link may be set.

Covers vaults.markdown.scan.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.work import assert_linear
from vaults.markdown.protected_spans import find_protected, find_tables, overlaps_any
from vaults.markdown.scan import scan

FREE = """---
title: X
---
X and (X), "X", **X**, _X_, <b>X</b>, X.

- X
- [ ] X
  1. X

      X

> X
> [!note] X

| X | a |
|---|---|
| X | b |

Term: X [see X
"""

HELD = """---
title: X
tags: [X]
---
# X

X
=

> ## X

- # X

`X` ``a ` X`` %% X %% <!-- X --> [X](y) ![X](y.png) [X](https://e.x/X) [X][l] [X] [[X]] [[y|X]] ![[X]]
https://e.x/X ftp://X www.e.x/X X@e.x @X mailto:X <https://X> #X #a/X [^X] ^[X y] <i title="X">
$X$ $$a X b$$ {{X}}
$$
a X
$$
[a X b] [a [b] X][l] [a
X] ${X} <% X %> <a href="y">X</a>
text ^X

[l]: https://e.x/X
[^X]: X
X:: y
- X:: y
(X:: y)

```lua
X
```

    X

<div>
X
</div>

!X \\X X(a) X[a] X] [X
"""


def seen(text: str) -> list[bool]:
    """Whether each X of a text is protected."""
    zones = find_protected(text)
    return [overlaps_any(zones, at, at + 1) for at, each in enumerate(text) if each == "X"]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_prose_in_lists_quotes_tables_and_emphasis_is_free(ending: str) -> None:
    assert seen(FREE.replace("\n", ending)) == [True, *[False] * (FREE.count("X") - 1)]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_everything_else_is_protected(ending: str) -> None:
    text = HELD.replace("\n", ending)
    zones = find_protected(text)
    free = [
        text[max(0, at - 15) : at + 10]
        for at, each in enumerate(text)
        if each == "X" and not overlaps_any(zones, at, at + 1)
    ]
    assert free == []


def test_tables_are_told_from_lines_with_bars() -> None:
    text = "a | b\n\n| a | b |\n|:--|--:|\n| c | d |\n\nx | y\n> |a|\n> |-|\n> |b|\n"
    spans = find_tables(scan(text))
    inside = [text[start:end].strip() for start, end in spans]
    assert inside == ["| a | b |\n|:--|--:|\n| c | d |", "> |a|\n> |-|\n> |b|"]


PIECES = st.sampled_from(
    [*"[]()|\\`!#*_~<>{}$^%@:/'\"-+=. \n\r", "\r\n", "[[", "]]", "```", "---\n", "://", "%%", "$$", "a", "<a>", "::"]
)


@given(st.lists(PIECES, max_size=60).map("".join))
def test_zones_of_any_text_are_in_order_and_apart(text: str) -> None:
    zones = find_protected(text)
    assert all(0 <= start < end <= len(text) for start, end in zones)
    assert all(one[1] < other[0] for one, other in pairwise(zones))
    for start, end in zones:
        assert overlaps_any(zones, start, start + 1)
        assert overlaps_any(zones, end - 1, end)
        assert end == len(text) or not overlaps_any(zones, end, end + 1)


SHAPES = {
    "brackets": lambda n: "[" * n,
    "closing": lambda n: "]" * n,
    "nested": lambda n: "[a" * n + "]" * n,
    "inner": lambda n: "[" + "[a]" * n,
    "labels": lambda n: "[a\n" * n,
    "tags": lambda n: "<a " * n,
    "anchors": lambda n: "<a>" * n,
    "anchor": lambda n: "<a>" * n + "</a>",
    "mail": lambda n: "@" * n,
    "mails": lambda n: "a@" * n,
    "schemes": lambda n: "://a" * n,
    "scheme": lambda n: "a" * n + "://",
    "dollars": lambda n: "$" * n,
    "formulas": lambda n: "$a" * n,
    "braces": lambda n: "{{" * n,
    "template": lambda n: "${" * n,
    "colons": lambda n: "::" * n,
    "fields": lambda n: "\na:: " * n,
    "fields in a line": lambda n: "(a:: " * n,
    "code": lambda n: "\n\n    x" * n,
    "bars": lambda n: "|" * n,
    "table": lambda n: "|a\n|-|\n" * n,
    "rows": lambda n: "a|b\n-|-\n" + "a|b\n" * n,
    "dashes": lambda n: "-" * n,
    "table dashes": lambda n: "\n|-" + "-|" * n,
    "carets": lambda n: " ^a" * n,
    "notes": lambda n: "[^a]: b\n" * n,
    "html": lambda n: "<b\n" * n,
    "quotes": lambda n: "> " * n,
    "bangs": lambda n: "!" * n,
    "slashes": lambda n: "\\" * n,
    "hashes": lambda n: "#" * n,
    "blanks": lambda n: " " * n,
    "lines": lambda n: "\n" * n,
    "word": lambda n: "a" * n,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_hostile_texts_are_read_in_linear_time(shape: str) -> None:
    def read(text: str) -> None:
        find_protected(text)
        find_tables(scan(text))

    assert_linear(read, SHAPES[shape], 5_000)
