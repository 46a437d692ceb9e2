"""One line is one line, whatever is in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.log_lines import LINE_LIMIT, failure_fields, to_json_line, to_text_line
from vaults.errors import StorageFull

HOSTILE = [
    'a\r\n{"event":"call","outcome":"ok"}',
    "\x1b[2J\x1b[31mred\x9b0m",
    "%s %d %(x)s {} {0} {event!r}",
    "line\u2028line\u2029line\x85line\x0bline\x0cline",
    "\x00\x07\x7f",
    "\ud800 lone",
    "x" * 1_000_000,
    "\U0001f512" * 1_000_000,
    '"' * 500 + "\\" * 500,
]


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("render", [to_json_line, to_text_line])
def test_hostile_text_stays_on_one_short_printable_line(value, render):
    line = render({"ts": "2026-11-21T00:00:00.000Z", "event": "call", **{f"k{n}": value for n in range(16)}})
    assert line.endswith("\n")
    assert len(line) <= LINE_LIMIT
    assert line[:-1].isprintable()
    assert line.isascii()


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_text_cannot_add_keys(value):
    read = json.loads(to_json_line({"event": "call", "tool": value}))
    assert set(read) == {"event", "tool"}
    assert len(read["tool"]) <= 200


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.text() | st.floats() | st.integers() | st.binary() | st.booleans())
)
def test_any_value_gives_strict_json(fields):
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    line = to_json_line(fields)
    assert line.count("\n") == 1
    assert set(json.loads(line, parse_constant=refuse)) == set(fields)


def test_unset_values_leave_their_key_out():
    assert json.loads(to_json_line({"event": "call", "ref": None})) == {"event": "call"}


@pytest.mark.parametrize(
    "text", ["eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl", "Bearer eyJhbGciOiJFZERTQSJ9.eyJzdWIi.sig" + "x" * 999]
)
def test_tokens_do_not_survive(text):
    assert "eyJ" not in to_json_line({"event": "x", "value": "a" * 150 + text})
    assert "eyJ" not in to_text_line({"event": text})


def test_a_failure_names_type_and_place_but_not_its_text():
    def deep():
        try:
            return {}["the memory text"]
        except KeyError as inner:
            raise ValueError("select secret from memories") from inner

    with pytest.raises(ValueError) as raised:
        deep()
    said = failure_fields(raised.value)
    assert said["error"] == "ValueError"
    assert said["cause"] == "KeyError"
    assert "test_log_lines.py" in said["where"]
    assert "secret" not in json.dumps(said)
    assert "memory text" not in json.dumps(said)


def test_a_failure_of_ours_says_why():
    assert failure_fields(StorageFull("no room left"))["reason"] == "no room left"


def test_an_os_failure_says_why_without_the_path():
    with pytest.raises(OSError) as raised:
        Path("/nowhere/vaults/acme/vault.db").read_text()
    said = failure_fields(raised.value)
    assert said["reason"] == "No such file or directory"
    assert "acme" not in json.dumps(said)
