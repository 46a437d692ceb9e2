"""Bytes and text, headings, tags, tasks, block ids, sections.

Covers vaults.markdown.code_spans, vaults.markdown.html_blocks, vaults.markdown.sections, vaults.markdown.tags,
vaults.markdown.tasks.
"""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.errors import InvalidArgument, NotFound
from vaults.markdown.encoding import NoteSource, NotText, decode, dominant_newline, encode
from vaults.markdown.parser import parse
from vaults.markdown.scan import scan
from vaults.markdown.sections import find_only_section, find_section, find_sections, list_outline, list_sections


@given(
    st.binary(max_size=40)
    | st.text(max_size=40).map(str.encode)
    | st.text(max_size=9).map(lambda t: b"\xef\xbb\xbf" + t.encode())
)
def test_what_decodes_encodes_to_the_same_bytes(data):
    with suppress(NotText):
        assert encode(decode(data)) == data


@pytest.mark.parametrize(
    "data", ["a".encode("utf-16"), b"\xfe\xff\x00a", b"a\0b", b"\xff", b"caf\xe9", b"\xed\xa0\x80"]
)
def test_other_bytes_are_refused(data):
    with pytest.raises(NotText):
        decode(data)


def test_the_byte_order_mark_is_no_text():
    assert decode(b"\xef\xbb\xbf---\na: b\n---\n") == NoteSource("---\na: b\n---\n", bom=True)
    assert parse(decode(b"\xef\xbb\xbf---\na: b\n---\n").text).frontmatter == {"a": "b"}
    with pytest.raises(NotText):
        encode(NoteSource("\ud800", bom=False))


@pytest.mark.parametrize(
    ("text", "newline"),
    [("", "\n"), ("a\nb\r\n", "\n"), ("a\r\nb\r\nc\n", "\r\n"), ("a\rb\rc\n", "\r"), ("a\r\n", "\r\n")],
)
def test_the_line_ending_most_lines_have(text, newline):
    assert dominant_newline(text) == newline


def test_headings_with_their_offsets():
    text = "# One ##\ntext\n\nTwo\nlines\n===\n### `x` #y\n```\n# no\n```\n<!--\n# no\n-->\n%%\n# no\n%%\n"
    text = f"{text}> # no\n- # no\n#no\n## \n".replace("\n", "\r\n")
    read = [(h.level, h.text, h.line, text[h.start : h.end]) for h in parse(text).headings]
    assert read == [
        (1, "One", 1, "# One ##"),
        (1, "Two lines", 4, "Two\r\nlines\r\n==="),
        (3, "`x` #y", 7, "### `x` #y"),
        (2, "", 20, "## "),
    ]


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#a", ("a",)),
        ("x #a/b-c_d, #é #日本 #2026 #y2026 #1/2", ("a/b-c_d", "é", "日本", "y2026")),
        ("#A #a #b", ("A", "b")),
        ("(#a)", ("a",)),
        ("# a", ()),
        ("##a", ()),
        ("a#b", ()),
        ("\\#a", ()),
        ("`#a`", ()),
        ("```\n#a\n```", ()),
        ("https://x.y/#a", ()),
        ("[[A #b]]", ()),
        ("[x](y.md #b)", ("b",)),
        ("[#a](b.md)", ()),
        ("[x](#a)", ()),
        ("<!-- #a -->", ()),
        ("%% #a %%", ()),
        ("100%% #a", ("a",)),
        ("#a.", ("a",)),
        ("#a/", ("a",)),
        ("## H #a", ("a",)),
        ("#a#b", ("a",)),
        ("#😀", ("😀",)),
        ("---\ntags: [b, A]\n---\n#a #c", ("b", "A", "c")),
        ("|#a|", ()),
    ],
)
def test_tags(text, tags):
    assert parse(text).tags == tags


def test_tasks():
    text = "# H\n- [ ] one #a 📅 2026-01-02\n\t* [x] two [due:: 2026-02-03]\n> 1. [/] three (due:: 2026-03-04)\n"
    text += "- [] no\n-[ ] no\n- [ ]no\n`- [ ] no`\n## I\n+ [-]\n"
    read = [(t.line, t.indent, t.status, t.done, t.text, t.heading, t.due, t.tags) for t in parse(text).tasks]
    assert read == [
        (2, 0, " ", False, "one #a 📅 2026-01-02", "H", "2026-01-02", ("a",)),
        (3, 4, "x", True, "two [due:: 2026-02-03]", "H", "2026-02-03", ()),
        (4, 1, "/", False, "three (due:: 2026-03-04)", "H", "2026-03-04", ()),
        (10, 0, "-", False, "", "I", None, ()),
    ]
    task = parse(text).tasks[0]
    assert text[task.start : task.end] == "- [ ] one #a 📅 2026-01-02"


def test_block_ids():
    text = "text ^one\n- item ^two-2 \n^three\nx^no\n^no here\n`^no`\n"
    note = parse(text)
    assert [(b.name, b.line, text[b.start : b.end]) for b in note.blocks] == [
        ("one", 1, "^one"),
        ("two-2", 2, "^two-2"),
        ("three", 3, "^three"),
    ]


def test_stretches():
    text = "---\na: b\n---\n`c` %% d %%\n```\ne\n```\n"
    found = scan(text)
    assert [(s.kind, text[s.start : s.end]) for s in found.stretches()] == [
        ("frontmatter", "---\na: b\n---\n"),
        ("code", "`c`"),
        ("comment", "%% d %%"),
        ("code", "```\ne\n```"),
    ]
    assert found.is_code(text.index("e"))
    assert not found.is_code(text.index("%"))
    assert len(found.visible) == len(found.linked) == len(found.lines) == len(text) + 2


NESTED = "intro\n# A\na\n## Log\none\n### Deep\nd\n# B *bold*\n## Log\ntwo\n## Same > name\nx"


def test_sections_end_before_the_next_heading_as_high():
    note = parse(NESTED)
    read = [(s.heading.text, NESTED[s.body_start : s.end]) for s in list_sections(NESTED, note)]
    assert read[0] == ("A", "a\n## Log\none\n### Deep\nd\n")
    assert read[1] == ("Log", "one\n### Deep\nd\n")
    assert read[-1] == ("Same > name", "x")
    assert [entry.parents for entry in list_outline(note)] == [
        (),
        ("A",),
        ("A", "Log"),
        (),
        ("B *bold*",),
        ("B *bold*",),
    ]


@pytest.mark.parametrize(
    ("wanted", "line"),
    [
        ("A", 2),
        ("# A", 2),
        ("log", 4),
        ("## Log", 4),
        ("A > Log", 4),
        ("B bold > log", 9),
        ("# B **bold** > ## Log", 9),
        ("b  BOLD", 8),
        ("A > Deep", 6),
        ("A > Log > Deep", 6),
        ("Same > name", 11),
        ("B bold > same > name", None),
        ("# Log", None),
        ("B > A", None),
        ("", None),
        ("###", None),
    ],
)
def test_finding_a_section(wanted, line):
    note = parse(NESTED)
    if line is None:
        with pytest.raises(NotFound):
            find_section(NESTED, note, wanted)
    else:
        assert find_section(NESTED, note, wanted).heading.line == line


def test_a_write_wants_one_section_only():
    note = parse(NESTED)
    assert len(find_sections(NESTED, note, "Log")) == 2
    with pytest.raises(InvalidArgument, match="names 2 headings, at lines 4, 9"):
        find_only_section(NESTED, note, "Log")
    assert find_only_section(NESTED, note, "B bold > Log").heading.line == 9


def test_a_missing_section_names_the_closest():
    with pytest.raises(NotFound) as missing:
        find_section(NESTED, parse(NESTED), "Logs")
    assert missing.value.details["closest"][0] == "Log"
    assert missing.value.details["headings"][0] == "# A"
    assert "'Log'" in (missing.value.hint or "")
    with pytest.raises(NotFound, match="no headings"):
        find_section("text", parse("text"), "A")
