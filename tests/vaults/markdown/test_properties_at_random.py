"""Frontmatter by key, with any values in any surroundings: exactly what was asked for changes."""

import json
import os
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from tests.work import examples
from vaults.errors import Conflict
from vaults.markdown.encoding import decode, to_lf_same_length
from vaults.markdown.frontmatter.edits import update_properties
from vaults.markdown.frontmatter.parser import find_body_start, parse_frontmatter

AWKWARD = (
    "", " ", "no", "Yes", "on", "null", "~", "1", "-1", "1e3", "0x1f", "0o17", "017", "1:30", "1_000", ".5",
    ".inf", ".NaN", "2026-01-02", "2026-13-02", "2026-1-2", "2026-01-02T10:00:00Z", "[[x]]", "[[x|y]] and z",
    "{{title}}", "#tag", "a #b", "a: b", "a:b", "a:", "- a", "-", "?", "? a", "@name", "%d", "`x`", "*a", "&a",
    "!a", "|", ">", "'", '"', "a'b", 'a"b', "a\\b", "a\nb", "a\n\nb\n", "\na", "a\n\n", " a\nb", "a \nb",
    "a\n b", "a\n\tb", "a\r\nb", "a\rb", "\t", "a\tb", "---", "...", "a\n---\nb", "<<", "=", "x, y", "[a", "é",
    "日本", "👍", "\x00", "\x7f", "\x85", "\u2028", "\ufeff", "\ufffe", "https://x.y/z?a=b#c", "a\n# b\nc",
    "10 apples", "y", "n",
)  # fmt: skip
TEXT = st.sampled_from(AWKWARD) | st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
SCALAR = (
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
)
NAME = st.sampled_from(
    ["a", "b.c", "no", "1", "x: y", "<<", "ü", "null", "- d", "2026-01-02", "#e", "'f'", "{g}", "h "]
)
ANY_NAME = TEXT.filter(lambda name: name.strip() != "" and name.isprintable())
VALUE = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAME, inner, max_size=3), max_leaves=8
)

# Entries as people write them, with the name left out; none ends in text that takes in what stands below it.
ENTRIES = (
    "K: plain\n", "K:   2026-01-02  # day\n", "K: 'single' # c\n", 'K: "double: x"\n', "K:\n", "K: # empty\n",
    "K: [a, 'b']\n", "K: [a,\n  b] # tail\n", "K: {a: 1, b: [2]}\n", "K:\n- a\n- 'b' # one\n",
    "K: # list\n  # first\n  - a\n\n  - b\n", "K:\n    -   a\n    -\n", "K:\n  a: 1\n  b:\n    - c\n",
    "K: folded\n  over two lines\n", "K: >-\n  folded\n  text\n", "K: |\n  one\n\n  two\n", "? K\n: explicit\n",
    "'K': quoted\n", "K: null\n", "K: yes\n", "K: []\n", 'K:\n- "[[x]]"\n- - y\n', "K:\n  below\n",
    "K: !!str 5\n", "K:\n- a: 1\n  b: 2\n- c\n",
)  # fmt: skip
TRIVIA = st.sampled_from(["", "", "", "\n", "# a comment: with: colons\n", "#\n\n# two\n", " \n"])
BODIES = ("", "text", "\n# H\n\n---\nmore\n", "---\na: 1\n---\n")
NEWLINES = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def notes(draw: st.DrawFn) -> tuple[list[tuple[str | None, str]], str]:
    """Pieces of a block's inside, each with the key it belongs to, and a body."""
    pieces: list[tuple[str | None, str]] = [(None, draw(TRIVIA))]
    for number, entry in enumerate(draw(st.lists(st.sampled_from(ENTRIES), max_size=6))):
        pieces += [(f"k{number}", entry.replace("K", f"k{number}")), (None, draw(TRIVIA))]
    return pieces, draw(st.sampled_from(BODIES))


def values(text: str) -> dict[str, Any]:
    body = find_body_start(text, f"\n{to_lf_same_length(text)}\n")
    loaded = parse_frontmatter(text[:body]) if body else None
    assert loaded is None or loaded.error is None
    return loaded.values if loaded else {}


def same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


KEYS = st.sampled_from(["k0", "k1", "k2", "k3", "new", "no", "2026", "x: y", "a.b"])


@settings(max_examples=examples(200))
@given(notes(), st.dictionaries(KEYS, VALUE, max_size=3), st.lists(KEYS, max_size=2, unique=True), NEWLINES)
def test_what_was_asked_changes_and_nothing_else(
    note: tuple[list[tuple[str | None, str]], str], set_: dict[str, Any], unset: list[str], newline: str
) -> None:
    pieces, body = note
    unset = [key for key in unset if key not in set_]
    text = f"---\n{''.join(piece for _, piece in pieces)}---\n{body}".replace("\n", newline)
    before = values(text)
    after, _ = update_properties(text, set_, unset)

    wanted = {key: value for key, value in {**before, **set_}.items() if key not in unset}
    assert same(values(after), wanted)
    assert update_properties(after, set_, unset)[0] == after
    assert not set(after.replace(newline, "")) & {"\r", "\n"}

    changed = {key for key, value in set_.items() if key not in before or not same(before[key], value)}
    touched = changed | {key for key in unset if key in before}
    if not touched:
        assert after == text
    parts = [
        re.escape(piece.replace("\n", newline)) if key not in touched else ("" if key in unset else ".+?")
        for key, piece in pieces
    ]
    added = ".+?" if changed - before.keys() else ""
    tail = re.escape(f"---\n{body}".replace("\n", newline))
    if wanted or not touched or not after.endswith(body.replace("\n", newline)) or after.startswith("---"):
        shape = re.escape(f"---{newline}") + "".join(parts) + added + tail
        assert re.fullmatch(shape, after, re.DOTALL)
    else:
        assert not "".join(piece for key, piece in pieces if key is None).strip()
        assert after == body.replace("\n", newline)


@settings(max_examples=examples(150))
@given(st.text(alphabet="-ab: \n\r#", max_size=30), st.dictionaries(ANY_NAME, VALUE, min_size=1, max_size=3))
def test_frontmatter_that_is_put_on_any_text_comes_off_again(body: str, set_: dict[str, Any]) -> None:
    assume(not find_body_start(body, f"\n{to_lf_same_length(body)}\n"))
    text, warnings = update_properties(body, set_)
    assert warnings == []
    assert text.endswith(body)
    assert same(values(text), set_)
    assert update_properties(text, {}, list(set_))[0] == body


@settings(max_examples=examples(150))
@example({"a": [["0?"]]})
@given(st.dictionaries(st.sampled_from(["a", "on", "1"]), VALUE, min_size=1, max_size=2))
def test_other_readers_of_yaml_read_the_same(set_: dict[str, Any]) -> None:
    inner = update_properties("", set_)[0].removeprefix("---\n").removesuffix("---\n")
    for read in (yaml.safe_load, YAML(typ="safe", pure=True).load):
        assert same(_undated(read(inner)), set_)


@pytest.mark.parametrize("note", ["", "---\nx: 'q'\n---\n", "---\nx: [q]\n---\n", "---\nx:\n- q\n---\n"])
def test_awkward_text_is_text_for_every_reader(note: str) -> None:
    for text in AWKWARD:
        set_ = {"x": text, "y": [text, {"k": text}], "z": {"k": [text]}}
        inner = update_properties(note, set_)[0].removeprefix("---\n").removesuffix("---\n")
        for read in (yaml.safe_load, YAML(typ="safe", pure=True).load):
            assert same(_undated(read(inner)), set_), text


def _undated(value: Any) -> Any:
    if isinstance(value, dict):
        return {_undated(key): _undated(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_undated(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


@given(st.text(alphabet="ab:- \n#'\"[]{}|>&*!?,\t1", max_size=60), st.dictionaries(KEYS, VALUE, max_size=2))
def test_no_frontmatter_breaks_the_editor(inner: str, set_: dict[str, Any]) -> None:
    text = f"---\n{inner}\n---\nbody"
    try:
        after, _ = update_properties(text, set_, ["a"])
    except Conflict:
        return
    wanted = {key: value for key, value in {**values(text), **set_}.items() if key != "a"}
    assert same(values(after), wanted)


NOTES = Path(__file__).resolve().parents[4] / "shared/vaults/silverbullet-docs/notes"


@pytest.mark.skipif(not NOTES.is_dir(), reason="the real notes are not beside the repository")
def test_real_notes_come_back_as_they_were() -> None:
    for folder, _, names in os.walk(NOTES):
        for name in names:
            text = decode((Path(folder) / name).read_bytes()).text
            now = values(text)
            assert update_properties(text, now, ["absent"])[0] == text
            with_key, _ = update_properties(text, {"zz": ["x"]})
            assert update_properties(with_key, {}, ["zz"])[0] == text
