"""Wrong usage of any command: exit code 2 and one line of one style, which names what is wrong.

Covers server.cli.app, server.reasons.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from server.cli.app import make_app
from tests.server.cli.command import Ran, Strongroom

ONE_LINE = re.compile(r"strongroom: \S.* \(strongroom( [a-z]+)* --help shows .+\)\n")
DOUBLED = re.compile(r"\b([a-z_.]+(?: [a-z]+)?) \1\b", re.IGNORECASE)
GIVEN = {"role": "reader", "event": "prompt", "system": "mempack", "command": "get"}
"""Good values, where not every word is one."""


def commands(command: Any = None, name: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    command = command or get_command(make_app())
    if isinstance(command, TyperGroup):
        for child, inner in command.commands.items():
            yield from commands(inner, (*name, child))
    else:
        yield name, command


PARSED = re.compile(r"Literal|\bint\b|\bfloat\b")
COMMANDS = list(commands())


def filled(command: Any, without: Any = None) -> list[str]:
    """Words for everything that is required but one."""
    words = []
    for each in command.params:
        if each.required and each is not without:
            value = GIVEN.get(each.name, "x")
            words += [each.opts[0], value] if each.param_type_name == "option" else [value]
    return words


def too_many_words() -> Iterator[tuple[str, list[str], str]]:
    """As ``cases``, of commands that do not take as many words as there are."""
    for name, command in COMMANDS:
        if all(each.nargs != -1 for each in command.params):
            yield "a word too many", [*name, *filled(command), "one", "two", "three", "four"], "four"


def cases() -> Iterator[tuple[str, list[str], str]]:
    """What is wrong, the command line, and the word that must be named."""
    for name, command in COMMANDS:
        yield "unknown option", [*name, *filled(command), "--bogus"], "--bogus"
        for each in command.params:
            shown = each.opts[0] if each.param_type_name == "option" else each.metavar
            if each.required:
                # Of several arguments a missing one is always the last.
                last = [other for other in command.params if other.required and other.param_type_name == "argument"]
                if each.param_type_name == "option" or each is last[-1]:
                    yield "missing", [*name, *filled(command, without=each)], shown
            if each.param_type_name == "option" and not each.is_flag:
                yield "option without its value", [*name, *filled(command, without=each), each.opts[0]], each.opts[0]
            if each.param_type_name == "option" and PARSED.search(str(each.type_descriptor.annotation)):
                yield "bad value", [*name, *filled(command, without=each), each.opts[0], "bad!"], each.opts[0]
    yield from too_many_words()
    for name in sorted({name[:-1] for name, _ in COMMANDS}):
        yield "no such command", [*name, "nosuch"], "nosuch"
    yield "bad global", ["--log-level", "loud", "version"], "--log-level"


CASES = list(cases())
KINDS = sorted({kind for kind, _, _ in CASES})


def check(ran: Ran, named: str | None) -> None:
    assert (ran.code, ran.out) == (2, ""), ran
    assert ran.err.count("\n") == 1, ran.err
    assert ran.err.startswith("strongroom: "), ran.err
    assert "Traceback" not in ran.err
    assert "alue error" not in ran.err
    assert "nput should" not in ran.err
    assert not DOUBLED.search(ran.err.split(" (strongroom ")[0]), ran.err
    if named is not None:
        assert named in ran.err.split(" (strongroom ")[0], (named, ran.err)


def test_there_are_cases_of_every_kind() -> None:
    assert len(KINDS) == 7
    assert len(CASES) > 120


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_usage_is_one_line_that_names_it_and_says_where_help_is(strongroom: Strongroom, kind: str) -> None:
    for words, named in ((words, named) for each, words, named in CASES if each == kind):
        ran = strongroom(*words)
        check(ran, named)
        assert ONE_LINE.fullmatch(ran.err), ran.err


REFUSED = (
    (["vault", "create", "../x"], "name must be"),
    (["vault", "update", "main"], "--write-mode or --destructive, --query-context or --model is needed"),
    (["token", "create", "--subject", "a", "--vault", "main", "--role", "reader", "--ttl", "0s"], "--ttl must lie"),
    (["token", "create", "--subject", "", "--vault", "main", "--role", "reader"], "--subject must be a plain name"),
    (["token", "create", "--subject", "a", "--vault", "", "--role", "reader"], "--vault may not be empty"),
    (["call", "status", "{", "--vault", "main"], "JSON does not parse: expecting property name"),
    (["call", "status", "[]", "--vault", "main"], "JSON must be an object"),
    (["call", "status", "[" * 100_000, "--vault", "main"], "JSON is nested too deep"),
    (["serve", "--port", "99999"], "--port must be less than or equal to 65535"),
    (["serve", "--workers", "0"], "--workers must be greater than or equal to 1"),
    (["serve", "--first-token-ttl", "soon"], "--first-token-ttl must be a whole number with one unit"),
    (["serve", "--no-first-token", "--first-token-ttl", "1d"], "--no-first-token and --first-token-ttl exclude"),
    (["config", "check", "--config", "/nowhere"], "--config /nowhere does not exist"),
    (["init", "/nowhere/x"], "path /nowhere/x is not a folder"),
    (["stdio", "--path", "/nowhere/x"], "--path /nowhere/x is not a folder"),
    (["licence", "sign", "X", "--key", "/nowhere", "--memories", "foo"], "--memories must be a valid integer"),
)


@pytest.mark.parametrize(("words", "said"), REFUSED, ids=lambda value: str(value)[:60])
def test_what_a_command_refuses_is_said_in_the_same_style(strongroom: Strongroom, words: list[str], said: str) -> None:
    strongroom("vault", "create", "main")
    ran = strongroom(*words)
    check(ran, None)
    assert ran.err.startswith(f"strongroom: {said}"), ran.err


SETTINGS = (
    (
        {"STRONGROOM_AUTH__MODE": "none", "STRONGROOM_SERVER__HOST": "0.0.0.0"},
        "auth.mode none needs a loopback address",
    ),
    ({"STRONGROOM_AUTH__MODE": "off"}, "auth.mode must be 'token' or 'none' (environment)"),
    ({"STRONGROOM_AUTH__ISSUERS": "[{"}, "auth.issuers is not valid JSON (environment)"),
    ({"STRONGROOM_AUTH__PUBLIC_URL": "x"}, "auth.public_url must be http(s)://"),
    ({"STRONGROOM_AUTH__TOKEN_TTL": "x"}, "auth.token_ttl must be a whole number with one unit"),
    ({"STRONGROOM_SERVER__PORT": "1.5"}, "server.port must be a valid integer (environment)"),
    ({"STRONGROOM_FOO": "1"}, "foo is not a setting (environment)"),
)


@pytest.mark.parametrize(("environment", "said"), SETTINGS, ids=lambda value: str(value)[:60])
def test_a_wrong_setting_is_said_in_the_same_style(
    strongroom: Strongroom, environment: dict[str, str], said: str
) -> None:
    ran = strongroom("config", "check", **environment)
    check(ran, None)
    assert ran.err.startswith(f"strongroom: {said}"), ran.err


def test_the_version_is_an_option_too(strongroom: Strongroom) -> None:
    said = strongroom("version")
    assert strongroom("--version") == said
    assert strongroom("vault", "--version").code == 2


def test_help_is_help(strongroom: Strongroom) -> None:
    for name, _ in COMMANDS:
        shown = strongroom(*name, "--help")
        assert (shown.code, shown.err) == (0, "")
        assert "..." not in shown.out.partition("Commands:")[2], shown.out
        assert "[[" not in shown.out
        for line in shown.out.splitlines():
            assert not re.fullmatch(r"  --[a-z-]+ (<\S+>)?", line.rstrip() + " "), line  # an option without a word
    for words in ([], ["vault"]):
        shown = strongroom(*words)
        assert (shown.code, shown.out) == (2, "")
        assert "Commands:" in shown.err
        assert "..." not in shown.err.partition("Commands:")[2], shown.err
