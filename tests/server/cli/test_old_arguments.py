"""Words typed for another system, read (server.cli.old_arguments, server.toolsets.old_command)."""

from __future__ import annotations

import pytest

from server.cli.old_arguments import read_arguments, to_our_words
from server.toolsets.mempack_commands import COMMAND_LINE as MEMPACK
from server.toolsets.nano_brain_commands import COMMAND_LINE as NANO_BRAIN
from server.toolsets.old_command import CommandLine, OldCommand


def known(line: CommandLine, *words: str) -> OldCommand:
    found = line.find(list(words))
    assert found is not None
    return found[0]


@pytest.mark.parametrize(
    "words",
    [
        ["auth plan", "--budget", "500", "--cluster"],
        ["--budget=500", "--cluster", "auth plan"],
        ["--cluster", "auth", "--budget", "500", "plan"],
        ["--budget", "500", "--cluster", "--", "auth plan"],
    ],
)
def test_options_may_stand_before_or_after_arguments(words: list[str]) -> None:
    given = read_arguments(known(MEMPACK, "get"), words)
    assert given.arguments == {"query": "auth plan", "budget": 500, "cluster": True}


def test_an_argument_fills_what_no_option_gave() -> None:
    given = read_arguments(known(MEMPACK, "add"), ["--title", "Auth", "Use middleware", "--tags", "-x"])
    assert given.arguments == {"title": "Auth", "summary": "Use middleware", "tags": "-x"}


def test_a_command_of_two_words_wins() -> None:
    assert known(MEMPACK, "embed", "status").name == "embed status"
    assert known(MEMPACK, "embed", "--kind").name == "embed"
    assert MEMPACK.find(["session"]) is None


def test_a_number_below_zero_is_no_option() -> None:
    assert read_arguments(known(NANO_BRAIN, "query"), ["-1", "-n", "3"]).arguments == {"query": "-1", "limit": 3}


def test_tags_of_a_list_are_split() -> None:
    assert read_arguments(known(NANO_BRAIN, "write"), ["x", "--tags=a, b"]).arguments["tags"] == ["a", "b"]


@pytest.mark.parametrize(
    ("command", "words", "ours"),
    [
        ("mcp", ["--write-mode", "ask", "--allow-write"],
         ["stdio", "--tools", "mempack", "--write-mode", "ask", "--vault", "v"]),
        ("share import", ["--in", "there", "--replace"], ["import", "mempack", "there", "--vault", "v"]),
        ("share export", [], ["export", "--to", "mem-share", "--vault", "v"]),
        ("init", ["--no-agents", "dir"], ["init", "dir", "--no-agents"]),
        ("doctor", ["--repo", "x", "--json"], ["doctor", "--json", "--vault", "v"]),
        ("ingest-artifact", ["docs", "--thread", "T-1", "--chunk-tokens", "320"],
         ["ingest", "docs", "--workspace", "/here", "--thread", "T-1", "--vault", "v"]),
        ("ingest", ["--repo=/there", "docs"], ["ingest", "docs", "--workspace", "/there", "--vault", "v"]),
    ],
)  # fmt: skip
def test_words_of_ours(command: str, words: list[str], ours: list[str]) -> None:
    own = known(MEMPACK, *command.split()).ours
    assert own is not None
    assert to_our_words(command, own, words, "v", "/here") == ours


def test_a_flag_may_ask_for_another_command_of_ours() -> None:
    own = known(NANO_BRAIN, "mcp").ours
    assert own is not None
    assert to_our_words("mcp", own, ["--http", "--port=8282"], "v", "/here") == ["serve", "--port", "8282"]
    assert to_our_words("mcp", own, [], "v", "/here") == ["stdio", "--tools", "nano-brain", "--vault", "v"]
