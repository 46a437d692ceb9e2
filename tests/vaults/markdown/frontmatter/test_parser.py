"""Frontmatter: what its values become, what is refused, and the quick reading against YAML's.

Covers vaults.markdown.frontmatter.values, vaults.markdown.frontmatter.yaml_reader.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.work import examples, python_steps
from vaults.markdown.frontmatter.parser import MAX_CHARACTERS, _parse_flat, parse_frontmatter
from vaults.markdown.frontmatter.yaml_reader import load_yaml
from vaults.markdown.parser import parse


def values(inner):
    loaded = parse_frontmatter(f"---\n{inner}\n---\n")
    assert loaded.error is None
    return loaded.values


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("off", "off"),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("2026-01-02", "2026-01-02"),
        ("2026-13-45", "2026-13-45"),
        ("0777", "0777"),
        ("0o17", "0o17"),
        ("0x1f", "0x1f"),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("12", 12),
        ("-3", -3),
        ("+4", 4),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("1e999", "1e999"),
        ("9" * 40, "9" * 40),
        ("'12'", "12"),
        ('"true"', "true"),
        ("!!str 12", "12"),
        ("[a, 1, true]", ["a", 1, True]),
        ("{a: {b: c}}", {"a": {"b": "c"}}),
        ("[]", []),
        ("2001-12-14t21:59:43.10-05:00", "2001-12-14t21:59:43.10-05:00"),
        ("[[Note]]", [["Note"]]),
        ('"[[Note]]"', "[[Note]]"),
        ("a # comment", "a"),
        ("|\n  a\n  b", "a\nb\n"),
        ("007", "007"),
        ("v1.0", "v1.0"),
        ("1.10", 1.1),
        ("é — ü", "é — ü"),
    ],
)
def test_a_value_is_what_json_can_hold(written, value):
    assert values(f"key: {written}") == {"key": value}


def test_keys_are_text():
    assert values("1: a\ntrue: b\n2026-01-02: c\nno: d") == {"1": "a", "true": "b", "2026-01-02": "c", "no": "d"}


@pytest.mark.parametrize(
    "inner",
    [
        "a: &x [1]\nb: *x",
        "a: !!python/object:os.system {}",
        "a: !thing b",
        "- a\n- b",
        "plain words",
        "a: [1",
        "a: b: c",
        "? [a, b]\n: c",
        "a: " + "[" * 500,
        "a: " + "[" * 40 + "]" * 40,
        "a: 'x",
        "\ta: b",
        "a: \x07",
        "{" * 5000,
        "%YAML 9.9",
        "a: 1\n--- \nb: 2",
        'a: "\\ud800"',
    ],
)
def test_what_is_refused_says_why_and_the_body_is_read(inner):
    loaded = parse_frontmatter(f"---\n{inner}\n...\n")
    assert loaded.values == {}
    assert loaded.error
    note = parse(f"---\n{inner.replace('--- ', '-- -')}\n---\n# Body\n[[Link]]\n")
    assert [heading.text for heading in note.headings] == ["Body"]
    assert [link.target for link in note.links] == ["Link"]


def test_an_alias_bomb_costs_nothing():
    def bomb(levels: int) -> str:
        lines = (f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n" for i in range(levels))
        return f"---\na: &a [x, x]\n{''.join(lines)}---\n"

    assert python_steps(lambda: parse_frontmatter(bomb(20))) < 5 * python_steps(lambda: parse_frontmatter(bomb(4)))
    loaded = parse_frontmatter(bomb(20))
    assert loaded.error == "line 3: an alias (`*name`); write the value out"


def test_more_than_the_cap_is_not_read():
    note = parse("---\n" + "a: b\n" * MAX_CHARACTERS + "---\n# Body\n")
    assert note.frontmatter == {}
    assert note.frontmatter_error == "longer than 65536 characters"
    assert note.title == "Body"


def test_the_last_of_two_equal_keys_counts_and_is_told():
    loaded = parse_frontmatter("---\na: 1\nb: 2\na: 3\n---\n")
    assert loaded.values == {"a": 3, "b": 2}
    assert loaded.error == "repeated: a; the last one counts"


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("---\na: b\n---\nbody", "body"),
        ("---\na: b\n...\nbody", "body"),
        ("---  \na: b\n---\t\nbody", "body"),
        ("---\n---\nbody", "body"),
        ("---\na: b\n---", ""),
        ("---\r\na: b\r\n---\r\nbody", "body"),
        ("---\ra: b\r---\rbody", "body"),
        ("---\na: b\nbody", None),
        ("\n---\na: b\n---\n", None),
        (" ---\na: b\n---\n", None),
        ("----\na: b\n---\n", None),
        ("--- x\na: b\n---\n", None),
        ("---\na: b\n ---\n", None),
    ],
)
def test_where_the_body_starts(text, body):
    note = parse(text)
    assert text[note.body_start :] == (text if body is None else body)
    assert note.frontmatter_error is None


def test_names_of_the_note():
    note = parse('---\ntitle: 12\naliases: "Smith, John"\ntags: "#a, b c/d 2024"\ndate: 2026-01-02\n---\n# Other\n')
    assert (note.title, note.aliases, note.tags, note.created) == (
        "12",
        ("Smith, John",),
        ("a", "b", "c/d"),
        "2026-01-02",
    )
    note = parse("---\nalias: [One, one, 2]\ntag:\n- '#x/y'\n- X/Y\n- 7\ncreated: 2025\ndate: 2026\n---\n\n# H *1* #\n")
    assert (note.title, note.aliases, note.tags, note.created) == ("H *1*", ("One", "2"), ("x/y",), "2025")
    assert parse("text\n\n# Late\n").title is None
    assert parse("## Second\n").title is None


WORD = st.text(alphabet="abzé0159_-/. ,'\"[]{}&*!|>%@`?~+:#", min_size=1, max_size=8)
LINE = st.one_of(
    st.builds("{}: {}".format, st.sampled_from(["a", "b", "c-d", "true", "no"]), WORD),
    st.sampled_from(
        [
            "a:",
            "b:",
            "- x",
            "  - y",
            "- 1",
            "-",
            "c: [a, 1.5]",
            'd: "q: r"',
            "e: [ ]",
            "f: 2026-01-02",
            "a: null",
            "g: é—x",
        ]
    ),
)


@settings(max_examples=examples(700), deadline=None)
@given(st.lists(LINE, max_size=5).map(lambda lines: "".join(f"{line}\n" for line in lines)))
def test_the_quick_reading_is_that_of_yaml(inner):
    quick = _parse_flat(inner)
    if quick is not None:
        whole = load_yaml(inner)
        assert whole.error is None
        assert json.dumps(quick) == json.dumps(whole.values)


@settings(max_examples=examples(300), deadline=None)
@given(st.text(max_size=60))
def test_whatever_stands_there_json_can_hold_it(inner):
    json.dumps(parse_frontmatter(f"---\n{inner}\n---\n").values, allow_nan=False).encode()
