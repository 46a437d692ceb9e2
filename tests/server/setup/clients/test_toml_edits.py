from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.setup.clients.toml_edits import NotToml, drop_toml, put_toml, read_toml

PATH = ("mcp_servers", "strongroom")
ENTRY = {"command": "/opt/bin/strongroom", "args": ["stdio"]}
PIECES = [
    "# a comment\n",
    "\n",
    "[tui]   # of the terminal\ntheme = 'dark'\n",
    '[mcp_servers.docs]\ncommand = "npx"\nargs = [\n  "-y", # yes\n]\n',
    "[mcp_servers.docs.env]\nLANG = 'C'\n",
    '[projects."/home/ann"]\ntrust_level = "trusted"\n\n\n',
    "[[hooks]]\nname = 'a'\n",
]
TEXTS = st.lists(st.sampled_from(PIECES), unique=True, max_size=6).map(lambda pieces: 'model = "m"\n' + "".join(pieces))


def is_left_after_removing(shorter: str, longer: str) -> bool:
    rest = iter(longer)
    return all(character in rest for character in shorter)


@given(TEXTS, st.sampled_from(["\n", "\r\n"]))
def test_a_table_is_added_and_every_other_byte_stays(text: str, newline: str) -> None:
    text = text.replace("\n", newline)
    before = tomllib.loads(text)
    after = put_toml(text, PATH, ENTRY)
    assert is_left_after_removing(text, after)
    before.setdefault("mcp_servers", {})["strongroom"] = ENTRY
    assert tomllib.loads(after) == before
    assert after.count("\n") == after.count(newline)


@given(TEXTS)
def test_a_table_is_replaced_and_taken_out(text: str) -> None:
    once = put_toml(text, PATH, ENTRY)
    twice = put_toml(
        once + "\n[mcp_servers.strongroom.env]\nA = 'b'\n# end\n", PATH, {"url": "x", "env": {"a b": True}}
    )
    assert tomllib.loads(twice)["mcp_servers"]["strongroom"] == {"url": "x", "env": {"a b": True}}
    assert put_toml(twice, PATH, ENTRY) == once + "\n# end\n"
    assert drop_toml(once, PATH) == text


@pytest.mark.parametrize(
    "text",
    ["mcp_servers = {strongroom = {url = 'x'}}", "mcp_servers.strongroom.url = 'x'", "[mcp_servers]\nstrongroom = {}"],
)
def test_what_is_no_table_of_its_own_is_left_alone(text: str) -> None:
    with pytest.raises(NotToml, match="table of its own"):
        put_toml(text, PATH, ENTRY)
    with pytest.raises(NotToml, match="table of its own"):
        drop_toml(text, PATH)


def test_the_place_of_what_is_wrong_is_told_and_nothing_quoted() -> None:
    with pytest.raises(NotToml, match="line 2") as wrong:
        read_toml('a = 1\nsecret = "\n')
    assert "secret" not in str(wrong.value)
    with pytest.raises(NotToml, match="should be a table"):
        put_toml("mcp_servers = 1", PATH, ENTRY)
