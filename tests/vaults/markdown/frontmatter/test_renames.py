"""Keys, values and tags spelled anew where they stand: a step and a step back give the same bytes.

Covers vaults.markdown.frontmatter.yaml_writer, vaults.markdown.tag_edits.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vaults.markdown.test_properties_at_random import ANY_NAME, NEWLINES, TEXT, notes, values
from vaults.errors import Conflict, InvalidArgument
from vaults.markdown.frontmatter.edits import update_properties
from vaults.markdown.frontmatter.renames import rename_key, respell_values
from vaults.markdown.frontmatter.yaml_writer import render_key
from vaults.markdown.parser import parse
from vaults.markdown.tag_edits import is_valid_tag, rename_tag_in_note

MARKED = """---
# of the note
"status" :   open   # said by Ann
tags: [ work,  "work/a" , other ] # as Obsidian has them
other:
  - 'work'
---
# work
#work and #work/a, `#work`, [[x#work]], https://a.b/#work, #Work #working (#work)
%% #work %%
"""


def test_a_key_is_renamed_and_nothing_else() -> None:
    assert rename_key(MARKED, "status", "state") == MARKED.replace('"status"', '"state"')
    assert rename_key(MARKED, "absent", "state") == MARKED
    assert rename_key(MARKED, "status", "other") == MARKED, "a note that has the new one is left alone"


def test_a_key_that_needs_quotes_gets_them() -> None:
    assert rename_key("---\na: 1\n---\n", "a", "b: c") == '---\n"b: c": 1\n---\n'
    with pytest.raises(InvalidArgument):
        rename_key("---\na: 1\n---\n", "a", "two\nlines")


@pytest.mark.parametrize("block", ["a: &x [1]\nb: *x", "{a: 1}", "? a\n: 1", "a: 1\na: 2", "a: [", "- a", "!!str a: 1"])
def test_frontmatter_that_cannot_be_edited_safely_is_refused(block: str) -> None:
    with pytest.raises(Conflict):
        rename_key(f"---\n{block}\n---\n", "a", "z") and respell_values(f"---\n{block}\n---\n", "a", lambda _: "z")


def test_a_key_that_one_reader_takes_for_a_mapping_is_refused() -> None:
    note = "---\n? \u2028b: \n---\n"
    with pytest.raises(Conflict):
        update_properties(note, {"a": 1})
    with pytest.raises(Conflict):
        rename_key(note, "b", "z")


def test_a_tag_is_renamed_with_those_below_it_wherever_it_is_one() -> None:
    expected = MARKED.replace('[ work,  "work/a" ,', '[ job,  "job/a" ,')
    expected = expected.replace("#work and #work/a,", "#job and #job/a,").replace(
        "#Work #working (#work)", "#job #working (#job)"
    )
    assert rename_tag_in_note(MARKED, "work", "job") == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("---\ntags: a\n---\n", "---\ntags: b\n---\n"),
        ("---\ntags: '#a, a/x c'\n---\n", "---\ntags: '#b, b/x c'\n---\n"),
        ("---\ntag: a\n---\n", "---\ntag: b\n---\n"),
        ("---\ntags:\n- a # one\n- b\n---\n", "---\ntags:\n- b\n---\n"),
        ("---\ntags: |\n  a\n  c\n---\n", "---\ntags: |\n  b\n  c\n---\n"),
        ("---\ntags: [1, a]\n---\n", "---\ntags: [1, b]\n---\n"),
        ("#a/ #/a #a//x", "#b/ #/b #b//x"),
        ("#a\r\n#A/Ä\r\n", "#b\r\n#b/Ä\r\n"),
        ("## a\n#a#a x#a &#a;", "## a\n#b#a x#a &#a;"),
    ],
)
def test_tags_in_every_form(before: str, after: str) -> None:
    assert rename_tag_in_note(before, "a", "b") == after


def test_tags_may_be_put_below_themselves_and_back() -> None:
    below = rename_tag_in_note(MARKED.replace("#Work", "#work"), "work", "old/work")
    assert "#old/work/a" in below
    assert rename_tag_in_note(below, "old/work", "work") == MARKED.replace("#Work", "#work")


@pytest.mark.parametrize("word", ["", "12", "a b", "#a", "a/", "/a", "a//b", "a,b", "a.b"])
def test_what_is_no_tag(word: str) -> None:
    assert not is_valid_tag(word)


def test_a_value_keeps_its_quotes_and_a_type_its_own_spelling() -> None:
    note = "---\na: 'x' # c\nb: [ x,y ]\nc: yes\nd: 5\n---\n"
    assert respell_values(note, "a", lambda _: "it's") == note.replace("'x'", "'it''s'")
    assert respell_values(note, "b", lambda each: "a, b" if each == "x" else each) == note.replace("[ x,", '[ "a, b",')
    assert respell_values(note, "c", lambda _: True) == note.replace("yes", "true")
    assert respell_values(note, "d", lambda _: "5") == note.replace("5", '"5"')


def test_many_brackets_and_tags_take_linear_time() -> None:
    assert rename_tag_in_note("[" * 50_000 + " #a", "a", "b").endswith(" #b")
    assert rename_tag_in_note("#a " * 10_000, "a", "b") == "#b " * 10_000


@given(notes(), ANY_NAME, NEWLINES)
def test_any_key_renamed_keeps_every_value_and_goes_back(
    note: tuple[list[tuple[str | None, str]], str], name: str, newline: str
) -> None:
    pieces, body = note
    text = f"---\n{''.join(piece for _, piece in pieces)}---\n{body}".replace("\n", newline)
    held = values(text)
    for old in held:
        try:
            new = rename_key(text, old, name)
        except Conflict:
            continue
        if name in held:
            assert new == text
            continue
        assert values(new) == {(name if key == old else key): value for key, value in held.items()}
        assert len(new) - len(text) == len(new.removesuffix(body)) - len(text.removesuffix(body))
        if render_key(name) == name:  # one that has to be quoted stays so
            assert rename_key(new, name, old) == text


WORDS = st.sampled_from(["work", "work/a", "working", "x", "12", "work/a/b", "net/work"])
PLACES = st.sampled_from(
    ["#{}", " #{} ", "(#{})", "`#{}`", "[[n#{}]]", "https://x.y/#{}", "# {}\n", "```\n#{}\n```\n", "%%#{}%%", "\n",
     "<!-- #{} -->", "{}", "- [ ] t #{}\n", "\n> #{}\n", "\\#{}", "[a](b#{})", "$#{}$", "    #{}\n"]
)  # fmt: skip
HEADS = st.sampled_from(
    ["", "---\ntags: [{}, {}]\n---\n", "---\ntags:\n  - {}\n  - '{}' # c\nx: {}\n---\n", '---\ntag: "{} {}"\n---\n']
)


@given(
    HEADS,
    st.lists(st.tuples(PLACES, WORDS), max_size=12),
    st.lists(WORDS, min_size=3, max_size=3, unique_by=str.lower),
    NEWLINES,
)
def test_any_tag_renamed_is_all_that_changes_and_goes_back(
    head: str, places: list[tuple[str, str]], words: list[str], newline: str
) -> None:
    text = (head.format(*words) + " ".join(place.format(word) for place, word in places)).replace("\n", newline)
    was = parse(text)
    new = rename_tag_in_note(text, "work", "job")
    assert parse(new).tags == tuple(re.sub("^work(?=/|$)", "job", tag) for tag in was.tags)
    assert new.replace("job", "work") == text
    assert rename_tag_in_note(new, "job", "work") == text


@given(TEXT, TEXT)
def test_any_text_takes_the_place_of_any(one: str, two: str) -> None:
    note = "---\na: 1 # x\nlist: [q, w]\n---\n"
    try:
        new = respell_values(
            respell_values(note, "a", lambda _: one), "list", lambda each: two if each == "q" else each
        )
    except (Conflict, InvalidArgument):
        return
    assert values(new) == {"a": one, "list": ["w"] if two == "w" else [two, "w"]}
