"""Links, one rule a case: what is read, what is not, and which note is meant.

Covers vaults.markdown.markdown_links.
"""

from __future__ import annotations

import pytest

from vaults.markdown.link_resolution import LinkTarget, name_key, resolve_link, resolve_target
from vaults.markdown.parser import parse


def read(text):
    links = parse(text).links
    for link in links:
        assert text[link.target_start : link.target_end] == link.target
    return [(link.target, link.heading, link.block, link.alias, link.embed) for link in links]


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("[[A]]", ("A", "", "", "", False)),
        ("[[a/B c]]", ("a/B c", "", "", "", False)),
        ("![[A.png]]", ("A.png", "", "", "", True)),
        ("[[A|b]]", ("A", "", "", "b", False)),
        ("[[A#H]]", ("A", "H", "", "", False)),
        ("[[#H]]", ("", "H", "", "", False)),
        ("[[A#^b1]]", ("A", "", "b1", "", False)),
        ("[[#^b1|x]]", ("", "", "b1", "x", False)),
        ("[[A#H#I|x]]", ("A", "H#I", "", "x", False)),
        ("[[A#H#^b]]", ("A", "H", "b", "", False)),
        ("| [[A\\|b]] |", ("A", "", "", "b", False)),
        ("| [[A#H\\|b]] |", ("A", "H", "", "b", False)),
        ("[[ A | b ]]", ("A", "", "", "b", False)),
        ("[[A|`b`]]", ("A", "", "", "`b`", False)),
        ("[[A|b [c] d]]", ("A", "", "", "b [c] d", False)),
        ("[[[A]]]", ("A", "", "", "", False)),
        ("<!-- [[A]] -->", ("A", "", "", "", False)),
        ("%% [[A]] %%", ("A", "", "", "", False)),
        ("    [[A]]", ("A", "", "", "", False)),
        ("[[^A]]", ("^A", "", "", "", False)),
        ("# [[A]]", ("A", "", "", "", False)),
        ("[x](a.md)", ("a.md", "", "", "x", False)),
        ("[x](../a%20b.md#H%20i)", ("../a%20b.md", "H i", "", "x", False)),
        ("[x](<a b.md>)", ("a b.md", "", "", "x", False)),
        ('[x](a.md "t")', ("a.md", "", "", "x", False)),
        ("[x](<a b.md> 't')", ("a b.md", "", "", "x", False)),
        ("![x](i.png)", ("i.png", "", "", "x", True)),
        ("[x](#H)", ("", "H", "", "x", False)),
        ("[x](a.md#^b)", ("a.md", "", "b", "x", False)),
        ("[x](a(b).md)", ("a(b).md", "", "", "x", False)),
        ("[x [y] z](a.md)", ("a.md", "", "", "x [y] z", False)),
        ("[x]( a.md )", ("a.md", "", "", "x", False)),
        ("[x]: a.md", ("a.md", "", "", "x", False)),
        ('\n[x]: <a b.md> "t"\n', ("a b.md", "", "", "x", False)),
        ("[x\ny](a.md)", ("a.md", "", "", "x\ny", False)),
        ('---\nup: "[[A#H|b]]"\n---\n', ("A", "H", "", "b", False)),
        ("---\nup:\n- [[A]]\n---\n", ("A", "", "", "", False)),
        ("\\`[[A]]\\`", ("A", "", "", "", False)),
        ("`a` [[A]] `b`", ("A", "", "", "", False)),
        ("`a\n\n[[A]]`", ("A", "", "", "", False)),
        ("- `a\n- [[A]]`", ("A", "", "", "", False)),
        ("# a ` b\n[[A]] `", ("A", "", "", "", False)),
        ("``` a`b\n[[A]]\n", ("A", "", "", "", False)),
        ("- ```\n  x\n[[A]]", ("A", "", "", "", False)),
        ("> ```\n> x\n\n[[A]]", ("A", "", "", "", False)),
        ("```\nx\n```\n[[A]]", ("A", "", "", "", False)),
    ],
)
def test_what_is_a_link(text, link):
    assert read(text) == [link]


@pytest.mark.parametrize(
    "text",
    [
        "`[[A]]`",
        "``[[A]] ` ``",
        "`a\n[[A]]`",
        "```\n[[A]]\n```",
        "~~~ x\n[[A]]\n```\n[[B]]",
        "```\n[[A]]",
        "> ```\n> [[A]]\n",
        "- ```\n  [[A]]\n  ```",
        "1. a\n\n   ```\n   [[A]]\n   ```",
        "   ```\n[[A]]\n  ```",
        "````\n```\n[[A]]\n````",
        "[[]]",
        "[[|a]]",
        "[[A\nB]]",
        "[[A",
        "[A]",
        "[x](https://a.b/c.md)",
        "[x](mailto:a@b.c)",
        "[x](//a.b)",
        "[x]()",
        "[x](a b.md)",
        "[x] (a.md)",
        "\\[x](a.md)",
        "[x\n\ny](a.md)",
        "`[x](a.md)`",
        "[^1]: note.md",
        "text\n[x]: a.md",
        "---\n# up: [[A]]\n---\n",
        "<pre>\n[[A]]\n</pre>",
        "<!-- `[[A]]` -->",
        "---\nup: a\n---\n[x]: https://a.b",
    ],
)
def test_what_is_none(text):
    assert read(text) == []


def test_several_in_order_with_their_lines():
    text = "---\nup: '[[U]]'\n---\n[[A]] [b](b.md)\n\n```\n[[no]]\n```\n\n"
    text += "![![c](d.png)](e.md)\n[f [g](h.md)](i.md)\n"
    note = parse(text)
    assert [(link.line, link.target, link.kind) for link in note.links] == [
        (2, "U", "frontmatter"),
        (4, "A", "wiki"),
        (4, "b.md", "markdown"),
        (10, "e.md", "markdown"),
        (10, "d.png", "markdown"),
        (11, "h.md", "markdown"),
    ]
    assert [text[link.start : link.end] for link in note.links[1:4]] == ["[[A]]", "[b](b.md)", "![![c](d.png)](e.md)"]


PATHS = ["A.md", "dir/A.md", "dir/B.md", "dir/sub/C.md", "other/D.md", "x/D.md", "Café.md", "Odd.markdown"]
NOTES = [LinkTarget(path) for path in PATHS] + [
    LinkTarget("t/one.md", "Title", ("Nick", "Twice")),
    LinkTarget("t/two.md", "B", ("Twice",)),
    LinkTarget("t/three.md", "Same"),
    LinkTarget("t/four.md", "same"),
]


@pytest.mark.parametrize(
    ("target", "source", "path"),
    [
        ("A", "dir/x.md", "A.md"),
        ("a.MD", "x.md", "A.md"),
        ("dir/A", "x.md", "dir/A.md"),
        ("/A", "dir/x.md", "A.md"),
        ("B", "dir/x.md", "dir/B.md"),
        ("sub/C", "dir/x.md", "dir/sub/C.md"),
        ("../A", "dir/x.md", "A.md"),
        ("./B", "dir/x.md", "dir/B.md"),
        ("C", "x.md", "dir/sub/C.md"),
        ("sub/C", "x.md", "dir/sub/C.md"),
        ("ub/C", "x.md", None),
        ("D", "x.md", None),
        ("D", "other/x.md", "other/D.md"),
        ("Cafe\u0301", "x.md", "Café.md"),
        ("odd", "x.md", "Odd.markdown"),
        ("title", "x.md", "t/one.md"),
        ("nick", "x.md", "t/one.md"),
        ("Twice", "x.md", None),
        ("same", "x.md", None),
        ("B", "x.md", "dir/B.md"),
        ("../../A", "dir/x.md", None),
        ("gone", "x.md", None),
        ("", "dir/x.md", "dir/x.md"),
        ("i.png", "x.md", None),
    ],
)
def test_which_note_a_wiki_link_means(target, source, path):
    assert resolve_target(target, source, NOTES) == path
    keyed = [
        note
        for note in NOTES
        if name_key(target) in {name_key(name) for name in (note.path, note.title or note.path, *note.aliases)}
    ]
    assert resolve_target(target, source, keyed) == path


@pytest.mark.parametrize(
    ("text", "source", "path"),
    [
        ("[x](A.md)", "dir/x.md", "dir/A.md"),
        ("[x](../A.md)", "dir/x.md", "A.md"),
        ("[x](/A.md)", "dir/x.md", "A.md"),
        ("[x](dir/B.md)", "other/x.md", "dir/B.md"),
        ("[x](B)", "dir/x.md", "dir/B.md"),
        ("[x](C.md)", "x.md", None),
        ("[x](Title)", "x.md", None),
        ("[x](Caf%C3%A9.md)", "x.md", "Café.md"),
        ("[x](#h)", "dir/x.md", "dir/x.md"),
        ("[x](A.md?q)", "x.md", None),
        ("[[Title]]", "x.md", "t/one.md"),
        ("[x](../../A.md)", "dir/x.md", None),
    ],
)
def test_which_note_a_link_means(text, source, path):
    assert resolve_link(parse(text).links[0], source, NOTES) == path


def test_of_two_spellings_the_exact_one_is_meant():
    assert resolve_target("note", "x.md", [LinkTarget("Note.md"), LinkTarget("note.md")]) == "note.md"
    assert resolve_target("Note", "x.md", [LinkTarget("Note.md"), LinkTarget("note.md")]) == "Note.md"
    assert resolve_target("a", "x.md", [LinkTarget("a.markdown"), LinkTarget("a.md")]) == "a.md"
