from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.setup.clients.jsonc_edits import NotJson, drop_json, put_json, read_json

ENTRY = {"command": "/opt/bin/strongroom", "args": ["stdio"], "env": {}}
SPACES = st.sampled_from(["", " ", "\n", "\n  ", "\t", " // c\n", "/* d */", "/* e\n */ ", "\r\n    "])
WORDS = st.sampled_from(["a", "b c", "ü", 'with "quotes"', "{", "//"])


@st.composite
def objects(draw: st.DrawFn, depth: int = 2) -> str:
    """The text of an object, with spaces and comments wherever they may stand."""
    parts = []
    keys = draw(st.lists(WORDS, max_size=3, unique=True))
    for at, key in enumerate(keys):
        value = draw(objects(depth - 1)) if depth and draw(st.booleans()) else draw(st.sampled_from(["1", "[]", '"}"']))
        comma = "," if at < len(keys) - 1 or draw(st.booleans()) else ""
        quoted = '"' + key.replace('"', '\\"') + '"'
        parts.append(draw(SPACES) + quoted + draw(SPACES) + ":" + draw(SPACES) + value + draw(SPACES) + comma)
    return "{" + "".join(parts) + draw(SPACES) + "}"


@st.composite
def files(draw: st.DrawFn) -> str:
    """A client's file: an object that may have a member ``mcpServers``."""
    body = draw(objects())
    if draw(st.booleans()):
        servers = f'{draw(SPACES)}"mcpServers":{draw(SPACES)}{draw(objects())}'
        end = body.rindex("}")
        gap = "" if re.sub(r"//[^\n]*\n|/\*.*?\*/|\s", "", body[:end], flags=re.DOTALL).endswith(("{", ",")) else ","
        body = body[:end] + gap + servers + body[end:]
    return draw(SPACES) + body + draw(SPACES)


def is_left_after_removing(shorter: str, longer: str) -> bool:
    rest = iter(longer)
    return all(character in rest for character in shorter)


@given(files())
def test_an_entry_is_added_and_every_other_byte_stays(text: str) -> None:
    before = read_json(text)
    after = put_json(text, ("mcpServers", "strongroom"), ENTRY)
    assert is_left_after_removing(text, after)
    servers = {**before.get("mcpServers", {}), "strongroom": ENTRY}
    assert read_json(after) == {**before, "mcpServers": servers}
    assert list(read_json(after)["mcpServers"]) == list(servers)


@given(files())
def test_taking_it_out_leaves_what_there_was(text: str) -> None:
    before = read_json(text)
    after = drop_json(put_json(text, ("mcpServers", "strongroom"), ENTRY), ("mcpServers", "strongroom"))
    assert read_json(after) == {"mcpServers": {}} | before
    if before.get("mcpServers"):
        assert after == text


@given(files(), st.sampled_from([{"url": "x"}, {}]))
def test_an_entry_is_replaced_in_its_place(text: str, other: dict[str, Any]) -> None:
    once = put_json(text, ("mcpServers", "strongroom"), ENTRY)
    twice = put_json(once, ("mcpServers", "strongroom"), other)
    assert read_json(twice)["mcpServers"]["strongroom"] == other
    path = ("mcpServers", "strongroom")
    assert drop_json(twice, path) == drop_json(once, path)
    assert read_json(put_json(twice, path, ENTRY)) == read_json(once)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "s": {\n    "k": 1\n  }\n}\n'),
        ("{}", '{\n  "s": {\n    "k": 1\n  }\n}'),
        ('{"a": 1}', '{"a": 1, "s": {"k": 1}}'),
        ('{\n\t"a": 1 // one\n}\n', '{\n\t"a": 1, // one\n\t"s": {\n\t\t"k": 1\n\t}\n}\n'),
        ('{\n  "a": 1, // one\n  // end\n}', '{\n  "a": 1, // one\n  "s": {\n    "k": 1\n  },\n  // end\n}'),
    ],
)
def test_an_entry_is_written_as_the_rest_is(before: str, after: str) -> None:
    assert put_json(before, ("s",), {"k": 1}) == after


@pytest.mark.parametrize("text", ["[]", '{"mcpServers": null}', '{"mcpServers": {}, "mcpServers": {}}', "{"])
def test_nothing_is_put_where_no_object_is(text: str) -> None:
    with pytest.raises(NotJson):
        put_json(text, ("mcpServers", "strongroom"), ENTRY)
